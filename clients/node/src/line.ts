/** What every stream to a server needs: its address, its pulse, and patience when it breaks. */

import { setTimeout as sleep } from "node:timers/promises";

import {
  type ChannelOptions,
  type ClientDuplexStream,
  type ClientReadableStream,
  credentials,
} from "@grpc/grpc-js";

import { isFinal, isServiceError, refusal } from "./refusal.js";

export type Log = (line: string) => void;

/** The server, or the bot's own owner, wants no more of this client: connecting again is no use. */
export class StoppedError extends Error {
  override readonly name = "StoppedError";
}

const ADDRESS = /^(?:(https?):\/\/)?((?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):[0-9]{1,5})\/?$/;
const LOOPBACK = /^(localhost|127(\.[0-9]+){3}|\[::1\]):/;

export class Server {
  readonly address: string;
  readonly credentials;
  /** Each connection is its own, and none outlives its client. */
  readonly options: ChannelOptions = { "grpc.use_local_subchannel_pool": 1 };

  /** Takes HOST:PORT. Beyond loopback that means TLS; `http://` before it says that there is none. */
  constructor(given: string) {
    const [, scheme, address] = ADDRESS.exec(given) ?? [];
    if (!address) throw new RangeError("a server is HOST:PORT");
    this.address = address;
    const plain = scheme ? scheme === "http" : LOOPBACK.test(address);
    this.credentials = plain ? credentials.createInsecure() : credentials.createSsl();
  }
}

/** How long to wait before the next attempt: ever longer, at most five seconds, and never in step. */
export class Patience {
  static readonly longest = 5000;
  failures = 0;
  #since: number | undefined;

  constructor(
    private readonly first = 250,
    private readonly random: () => number = Math.random,
    private readonly now: () => number = performance.now.bind(performance),
  ) {}

  /** The server has answered. Only a stream that lasts makes the next wait short again. */
  succeeded(): void {
    this.#since = this.now();
  }

  /** Returns the next wait, in milliseconds. */
  next(): number {
    if (this.#since !== undefined && this.now() - this.#since > Patience.longest) this.failures = 0;
    this.#since = undefined;
    const most = Math.min(Patience.longest, this.first * 2 ** this.failures);
    this.failures += 1;
    return most * (0.5 + this.random() / 2);
  }
}

/** Counts the periods in which nothing was heard; the third makes a stream dead. */
export class Pulse {
  #timer: NodeJS.Timeout;
  #missed = 0;

  constructor(
    period: number,
    private readonly dead: () => void,
  ) {
    this.#timer = this.#start(period);
  }

  heard(): void {
    this.#missed = 0;
    this.#timer.refresh();
  }

  every(period: number): void {
    this.stop();
    this.#missed = 0;
    this.#timer = this.#start(period);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** An interval, since it fires once however long a bot has kept the thread to itself. */
  #start(period: number): NodeJS.Timeout {
    return setInterval(() => this.tick(), period);
  }

  /** A period is over in which nothing was heard. */
  tick(): void {
    this.#missed += 1;
    if (this.#missed === 3) this.dead();
  }
}

/**
 * Reads a stream to its end and returns why it ended, or throws the error of the call.
 *
 * `hear` takes each message, and returns a reason when it was the last.
 */
export async function listen<T>(
  call: ClientReadableStream<T> | ClientDuplexStream<never, T>,
  period: number,
  hear: (message: T, pulse: Pulse) => string | undefined,
): Promise<string> {
  let silent = false;
  const pulse = new Pulse(period, () => {
    silent = true;
    call.cancel();
  });
  call.on("error", () => {}); // the loop throws it; what comes after the loop means nothing
  try {
    for await (const message of call) {
      pulse.heard();
      const why = hear(message as T, pulse);
      if (why) return why;
    }
  } catch (error) {
    if (!silent) throw error;
  } finally {
    pulse.stop();
    call.cancel();
  }
  return silent ? "nothing was heard for too long" : "the stream broke off";
}

/** Connects again and again until the signal aborts; throws StoppedError where that is no use. */
export async function keepConnected(
  connect: () => Promise<string>,
  patience: Patience,
  signal: AbortSignal,
  log: Log,
): Promise<void> {
  while (!signal.aborted) {
    let why: string;
    let wait = 0;
    try {
      why = await connect();
    } catch (error) {
      if (!isServiceError(error)) throw error;
      const refused = refusal(error);
      if (isFinal(refused)) throw new StoppedError(refused.text);
      why = refused.text;
      wait = refused.retryAfter;
    }
    if (signal.aborted) return;
    wait += patience.next();
    if (patience.failures === 1) log(`${why}: trying again in ${(wait / 1000).toFixed(1)} s`);
    await sleep(wait, undefined, { signal }).catch(() => {}); // aborted: the loop ends
  }
}
