/** A remote bot: one stream of `BotService.Connect`, kept up, and all the seats that it plays. */

import { type ClientDuplexStream, Metadata, status } from "@grpc/grpc-js";

import {
  AnswerRejected_Reason,
  BotServiceClient,
  ConnectionEnded_Reason,
  type ConnectRequest,
  type ConnectResponse,
  Hello,
  type MatchOver,
  type MatchStarted,
  type Playable,
  type Welcome,
} from "./gen/ronda/v1/bot_service.js";
import { Fault_Cause, Result_Outcome } from "./gen/ronda/v1/match.js";
import {
  keepConnected,
  listen,
  type Log,
  Patience,
  type Pulse,
  Server,
  StoppedError,
} from "./line.js";
import { isServiceError } from "./refusal.js";
import { type Bot, SeatPlayer } from "./seat.js";
import { milliseconds, oneLine } from "./text.js";

export type { Bot, Time } from "./seat.js";

/** A bot that is offered to a server. */
export interface Offer {
  /** 1 to 64 letters, digits, `-` and `_`; it belongs to the account that uses it first. */
  readonly name: string;
  /** Change it whenever the bot decides differently. */
  readonly version: string;
  readonly description?: string;
  /** Seats at once, over all matches; 16 if not said. */
  readonly maxSeats?: number;
  /** What it plays; everything if not said. */
  readonly plays?: readonly Playable[];
  /** True for a bot that decides by views alone: no event is sent. */
  readonly withoutEvents?: boolean;
  /** Is waited for, once, before the first match: no clock runs yet. */
  prepare?(): Promise<void>;
  /** Makes the bot of one seat. */
  bot(seat: MatchStarted): Bot;
}

export interface Options {
  readonly server: Server;
  /** The API key. It is sent to the server, and told to nobody else. */
  readonly key: string;
  readonly log?: Log;
  readonly patience?: Patience;
}

/** Within three times so many milliseconds a server says Welcome. */
const WELCOME = 20_000 / 3;
/** How long the server may take to answer a goodbye, in milliseconds. */
const GOODBYE = 500;
/** The most places that the server heeds, and so the most seats that are remembered. */
const PLACES = 512;
/** The most bytes of a Hello: the server reads 16 KiB. */
const HELLO_BYTES = 16_000;

const NO_KEY = "the key is not one of this server, or no longer: check --key-file";

interface Held {
  readonly match: MatchStarted;
  readonly player: SeatPlayer;
  /** Whether the open stream has told of it. */
  told: boolean;
}

type Call = ClientDuplexStream<ConnectRequest, ConnectResponse>;

export class BotClient {
  readonly #server: Server;
  readonly #metadata = new Metadata();
  readonly #log: Log;
  readonly #patience: Patience;
  readonly #seats = new Map<string, Held>();
  #prepared: Promise<void> | undefined;
  #call: Call | undefined;

  constructor(
    private readonly offer: Offer,
    { server, key, log = () => {}, patience = new Patience() }: Options,
  ) {
    this.#server = server;
    this.#metadata.set("authorization", `Bearer ${key}`);
    this.#log = log;
    this.#patience = patience;
  }

  /** Plays until `signal` aborts. Throws StoppedError where connecting again is no use. */
  async run(signal: AbortSignal): Promise<void> {
    await keepConnected(() => this.#connect(signal), this.#patience, signal, this.#log);
  }

  /** Plays on one stream to its end, and returns why it ended. */
  async #connect(signal: AbortSignal): Promise<string> {
    const { address, credentials, options } = this.#server;
    const client = new BotServiceClient(address, credentials, options);
    const call = (this.#call = client.connect(this.#metadata));
    let hangUp: NodeJS.Timeout | undefined;
    const leave = (): void => {
      call.end();
      hangUp = setTimeout(() => call.cancel(), GOODBYE);
    };
    signal.addEventListener("abort", leave, { once: true });
    let problem: unknown;
    const failed = (error: unknown): void => {
      problem = error;
      call.cancel();
    };
    this.#say({ $case: "hello", value: this.#hello() });
    try {
      return await listen(call, WELCOME, (message, pulse) => {
        if (message.message?.$case === "welcome") {
          this.#welcome(message.message.value, pulse);
          this.#prepare().then(
            () => this.#call === call && this.#say({ $case: "ready", value: {} }),
            failed,
          );
        }
        return this.#hear(message);
      });
    } catch (error) {
      if (signal.aborted) return "left";
      if (!problem && isServiceError(error) && error.code === status.UNAUTHENTICATED)
        throw new StoppedError(NO_KEY);
      throw problem ?? error;
    } finally {
      this.#call = undefined;
      for (const held of this.#seats.values()) {
        held.told = false;
        held.player.lost();
      }
      clearTimeout(hangUp);
      signal.removeEventListener("abort", leave);
      client.close();
    }
  }

  #hello(): Hello {
    const { name, version, description = "", maxSeats = 0, plays = [], withoutEvents } = this.offer;
    const places = [...this.#seats.values()]
      .filter(({ player }) => player.after > 0)
      .map(({ match: { matchId, seat }, player }) => ({
        matchId,
        seat,
        afterSequence: player.after,
      }));
    const hello = Hello.fromPartial({
      name,
      version,
      description,
      maxSeats,
      plays: [...plays],
      withoutEvents: withoutEvents ?? false,
      places,
    });
    // Of a match that has no place in it, events are told from the first, and skipped here.
    while (Hello.encode(hello).finish().length > HELLO_BYTES)
      hello.places = hello.places.slice(Math.ceil(hello.places.length / 4));
    return hello;
  }

  #welcome({ identity, maxSeats, heartbeat }: Welcome, pulse: Pulse): void {
    this.#log(`connected as ${oneLine(identity)}, ${maxSeats} seats`);
    this.#patience.succeeded();
    pulse.every(milliseconds(heartbeat) || WELCOME);
  }

  #prepare(): Promise<void> {
    return (this.#prepared ??= Promise.resolve(this.offer.prepare?.()));
  }

  /** Takes one message; returns why the stream ends if it was the last. */
  #hear({ sentTime, message }: ConnectResponse): string | undefined {
    switch (message?.$case) {
      case "matchStarted":
        this.#start(message.value);
        break;
      case "matchEvent":
        if (message.value.event) this.#seat(message.value)?.player.told(message.value.event);
        break;
      case "decision":
        this.#seat(message.value)?.player.asked(message.value, sentTime);
        break;
      case "answerRejected": {
        const { decisionId, reason } = message.value;
        const why = AnswerRejected_Reason[reason] ?? `reason ${reason}`;
        if (reason === AnswerRejected_Reason.ALREADY_ANSWERED) break; // it was said twice
        this.#log(`an answer was dropped: ${why} (${oneLine(decisionId, 128)})`);
        for (const { player } of this.#seats.values()) player.dropped(decisionId);
        break;
      }
      case "matchOver":
        this.#over(message.value);
        break;
      case "caughtUp":
        this.#forget();
        break;
      case "ended":
        return ended(message.value.reason);
      default: // Welcome and ConnectionAlive, and whatever came after this version
    }
    return undefined;
  }

  #seat(at: { matchId: string; seat: number }) {
    return this.#seats.get(`${at.matchId}/${at.seat}`);
  }

  /** Makes the bot of a seat; one that is told of again goes on where it is. */
  #start(match: MatchStarted): void {
    const known = this.#seat(match);
    if (known) {
      known.told = true;
      this.#keep(known); // among the last, since the server has it too
      return;
    }
    const { matchId, seat, settings, identities } = match;
    const others = identities.filter((_, index) => index !== seat).join(", ");
    const told = `${oneLine(matchId)}: seat ${seat}`;
    this.#log(`${told}, ${settings?.rules ?? "?"} against ${oneLine(others)}`);
    const player = new SeatPlayer(
      () => this.offer.bot(match),
      (answer) => this.#say({ $case: "answer", value: answer }),
      (line) => this.#log(`${told}: ${line}`),
    );
    this.#keep({ match, player, told: true });
  }

  /** Remembers a seat; of too many, that which the server has not told of for longest. */
  #keep(held: Held): void {
    const key = `${held.match.matchId}/${held.match.seat}`;
    this.#seats.delete(key);
    this.#seats.set(key, held);
    const [oldest] = this.#seats.keys();
    if (this.#seats.size > PLACES && oldest) this.#seats.delete(oldest);
  }

  #over({ matchId, seat, result }: MatchOver): void {
    const key = `${matchId}/${seat}`;
    this.#seats.get(key)?.player.over();
    this.#seats.delete(key);
    const outcome = result ? (Result_Outcome[result.outcome] ?? `outcome ${result.outcome}`) : "?";
    const { fault } = result ?? {};
    const blame = fault && `, by ${Fault_Cause[fault.cause] ?? fault.cause} of seat ${fault.seat}`;
    const how = `${outcome} ${result?.scores.join("-") ?? ""}${blame ?? ""}`;
    this.#log(`${oneLine(matchId)}: seat ${seat} is over: ${how.toLowerCase()}`);
  }

  /** Leaves the seats of which the server, having told all that there are, has told nothing. */
  #forget(): void {
    for (const [key, { match, player, told }] of this.#seats) {
      if (told) continue;
      player.over();
      this.#seats.delete(key);
      this.#log(`${oneLine(match.matchId)}: seat ${match.seat} is over: no more is told of it`);
    }
  }

  /** Says something on the stream that is open. */
  #say(message: NonNullable<ConnectRequest["message"]>): void {
    if (this.#call?.writable) this.#call.write({ message });
  }
}

/** Returns why a stream ended that is to be opened again, or throws where it is not. */
function ended(reason: ConnectionEnded_Reason): string {
  switch (reason) {
    case ConnectionEnded_Reason.TAKEN_OVER:
      throw new StoppedError("another connection of this bot has taken over");
    case ConnectionEnded_Reason.KEY_REVOKED:
      throw new StoppedError("the key was revoked: ask whoever runs the server for another");
    case ConnectionEnded_Reason.DRAINING:
      return "the server restarts";
    default: // also a reason that came after this version
      return `the server ended the stream (${ConnectionEnded_Reason[reason] ?? reason})`;
  }
}
