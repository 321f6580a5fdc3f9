/** A server of the contract in this process, which says what a test tells it to. */

import { BinaryWriter } from "@bufbuild/protobuf/wire";
import {
  Metadata,
  Server as GrpcServer,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerWritableStream,
  status,
} from "@grpc/grpc-js";

import { type Bot, BotClient, type Offer } from "../client.js";
import {
  BotServiceService,
  type ConnectRequest,
  ConnectResponse,
  type Decision,
} from "../gen/ronda/v1/bot_service.js";
import {
  MatchServiceService,
  type WatchMatchRequest,
  WatchMatchResponse,
} from "../gen/ronda/v1/match_service.js";
import { type View, View_Phase } from "../gen/ronda/v1/view.js";
import { Patience, Server } from "../line.js";

/** What comes is kept until somebody takes it, and who takes waits until it comes. */
export class Queue<T> {
  #held: T[] = [];
  #waiting: ((item: T) => void)[] = [];

  put(item: T): void {
    const next = this.#waiting.shift();
    if (next) next(item);
    else this.#held.push(item);
  }

  async take(): Promise<T> {
    if (this.#held.length > 0) return this.#held.shift() as T;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}

type Request = NonNullable<ConnectRequest["message"]>;
type Said<K extends Request["$case"]> = Extract<Request, { $case: K }>["value"];
type Response = NonNullable<ConnectResponse["message"]>;
type Update = NonNullable<WatchMatchResponse["update"]>;

/** One stream of a bot, as the server sees it. */
export class BotStream {
  readonly metadata: Metadata;
  /** Resolves when the bot has said its last. */
  readonly left: Promise<void>;
  readonly #said = new Queue<Request>();

  /** `deaf` servers do not answer a goodbye. */
  constructor(
    private readonly call: ServerDuplexStream<ConnectRequest, ConnectResponse | Buffer>,
    deaf: boolean,
  ) {
    this.metadata = call.metadata;
    call.on("data", ({ message }: ConnectRequest) => message && this.#said.put(message));
    call.on("end", () => deaf || call.end());
    call.on("error", () => {}); // of a stream that the bot has cancelled
    this.left = new Promise((resolve) => {
      call.on("end", resolve);
      call.on("cancelled", resolve);
    });
  }

  /** Returns the next thing that the bot says, which must be of this kind. */
  async hears<K extends Request["$case"]>(kind: K): Promise<Said<K>> {
    const { $case, value } = await this.#said.take();
    if ($case !== kind) throw new Error(`the bot said ${$case}, not ${kind}`);
    return value as Said<K>;
  }

  say(message: Response, sentTime = new Date()): void {
    this.call.write({ message, sentTime });
  }

  /** Says bytes as they are, such as of a later version of the contract. */
  bytes(raw: Uint8Array): void {
    this.call.write(Buffer.from(raw));
  }

  /** Says the last. */
  end(reason: number): void {
    this.say({ $case: "ended", value: { reason } });
    this.call.end();
  }

  /** Ends with an error. */
  fail(code: status, details = "", metadata = new Metadata()): void {
    this.call.emit("error", { code, details, metadata });
  }

  /** Takes the bot's Hello, greets it, and waits until it is ready. */
  async open(heartbeat = 10_000): Promise<Said<"hello">> {
    const hello = await this.greet(heartbeat);
    await this.hears("ready");
    return hello;
  }

  async greet(heartbeat = 10_000): Promise<Said<"hello">> {
    const hello = await this.hears("hello");
    this.say({
      $case: "welcome",
      value: {
        identity: `${hello.name}@${hello.version}`,
        account: "ann",
        maxSeats: 16,
        heartbeat: { seconds: Math.trunc(heartbeat / 1000), nanos: (heartbeat % 1000) * 1e6 },
      },
    });
    return hello;
  }

  started(matchId = "m1", seat = 0): void {
    this.say({
      $case: "matchStarted",
      value: {
        matchId,
        seat,
        settings: undefined,
        identities: ["far@1", "near@1"],
        chance: Buffer.alloc(32),
        sequence: 0,
      },
    });
  }

  event(sequence: number, matchId = "m1"): void {
    const kind = { $case: "cancelAgreed", value: { seat: 1 } } as const;
    const event = { sequence, eventTime: undefined, kind };
    this.say({ $case: "matchEvent", value: { matchId, seat: 0, event } });
  }

  over(matchId = "m1"): void {
    this.say({ $case: "matchOver", value: { matchId, seat: 0, result: undefined, sequence: 9 } });
  }

  ask(decisionId: string, given: Partial<View> = {}, more: Partial<Decision> = {}): void {
    this.say({ $case: "decision", value: decision(decisionId, given, more) });
  }
}

export const decision = (
  decisionId: string,
  given: Partial<View> = {},
  more: Partial<Decision> = {},
): Decision => ({
  decisionId,
  matchId: "m1",
  seat: 0,
  view: view(given),
  deadline: undefined,
  remainingBank: undefined,
  lastRoundTrip: undefined,
  ...more,
});

export const view = (given: Partial<View>): View => ({
  sequence: 1,
  matchId: "m1",
  settings: undefined,
  seats: [],
  handNumber: 1,
  batch: 1,
  dealer: 0,
  phase: View_Phase.PLAY,
  handSizes: [],
  table: [],
  plays: [],
  stock: 0,
  pileCounts: [],
  scores: [],
  firstTable: [],
  lastPlay: undefined,
  chainRank: 0,
  chainLink: 0,
  pack: [],
  declared: [],
  answeredSeats: [],
  deadline: undefined,
  result: undefined,
  cancelAgreedSeats: [],
  hand: [],
  mayDeclare: false,
  ...given,
});

/** A field that no version so far has, with something in it. */
export const unknownField = (writer: BinaryWriter): BinaryWriter =>
  writer.uint32((500 << 3) | 2).string("from a later version");

/** One stream of a follower, as the server sees it. */
export class WatchStream {
  readonly request: WatchMatchRequest;

  constructor(
    private readonly call: ServerWritableStream<WatchMatchRequest, WatchMatchResponse | Buffer>,
  ) {
    this.request = call.request;
  }

  say(update: Update): void {
    this.call.write({ update, sentTime: new Date() });
  }

  bytes(raw: Uint8Array): void {
    this.call.write(Buffer.from(raw));
  }

  end(reason: number, sequence: number): void {
    this.say({ $case: "ended", value: { reason, sequence } });
    this.call.end();
  }

  fail(code: status): void {
    this.call.emit("error", { code, details: "", metadata: new Metadata() });
  }
}

export class FakeServer {
  readonly bots = new Queue<BotStream>();
  readonly watchers = new Queue<WatchStream>();
  readonly #server = new GrpcServer();
  address = "";
  deaf = false;

  static async start(): Promise<FakeServer> {
    const fake = new FakeServer();
    const { connect } = BotServiceService;
    const { watchMatch } = MatchServiceService;
    fake.#server.addService(
      { connect: { ...connect, responseSerialize: orBytes(ConnectResponse) } },
      {
        connect: (call: ServerDuplexStream<ConnectRequest, ConnectResponse | Buffer>) =>
          fake.bots.put(new BotStream(call, fake.deaf)),
      },
    );
    fake.#server.addService(
      { watchMatch: { ...watchMatch, responseSerialize: orBytes(WatchMatchResponse) } },
      {
        watchMatch: (call: ServerWritableStream<WatchMatchRequest, WatchMatchResponse | Buffer>) =>
          fake.watchers.put(new WatchStream(call)),
      },
    );
    const port = await new Promise<number>((resolve, reject) =>
      fake.#server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      ),
    );
    fake.address = `127.0.0.1:${port}`;
    return fake;
  }

  stop(): void {
    this.#server.forceShutdown();
  }
}

function orBytes<T>(type: { encode(message: T): BinaryWriter }) {
  return (message: T | Buffer): Buffer =>
    Buffer.isBuffer(message) ? message : Buffer.from(type.encode(message as T).finish());
}

/** A bot that plays on a fake server, and what has become of it. */
export class Playing {
  readonly #log = new Queue<string>();
  readonly done: Promise<unknown>;
  readonly #stopping = new AbortController();

  constructor(server: FakeServer, bot: Partial<Bot> = {}, offer: Partial<Offer> = {}) {
    const whole: Bot = { play: (shown) => shown.hand[0] ?? 0, ...bot };
    const client = new BotClient(
      { name: "far", version: "1", bot: () => whole, ...offer },
      {
        server: new Server(server.address),
        key: "rnd_k_test",
        log: (line) => this.#log.put(line),
        patience: new Patience(1),
      },
    );
    this.done = client.run(this.#stopping.signal).then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  /** Waits for a line of the log, and returns it. */
  async said(what: RegExp): Promise<string> {
    for (;;) {
      const line = await this.#log.take();
      if (what.test(line)) return line;
    }
  }

  async stop(): Promise<unknown> {
    this.#stopping.abort();
    return this.done;
  }
}
