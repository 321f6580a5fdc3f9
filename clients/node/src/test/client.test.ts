import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { Metadata, status } from "@grpc/grpc-js";

import type { Bot, Offer, Time } from "../client.js";
import {
  AnswerRejected_Reason,
  ConnectionEnded_Reason,
  ConnectResponse,
  Hello,
} from "../gen/ronda/v1/bot_service.js";
import { Duration } from "../gen/google/protobuf/duration.js";
import { Card } from "../gen/ronda/v1/card.js";
import type { Event, SetKind } from "../gen/ronda/v1/event.js";
import { View_Phase } from "../gen/ronda/v1/view.js";
import { StoppedError } from "../line.js";
import { type BotStream, FakeServer, Playing, Queue, unknownField } from "./fake.js";

let server: FakeServer;
let playing: Playing | undefined;

beforeEach(async () => {
  server = await FakeServer.start();
});

afterEach(async () => {
  await playing?.stop();
  server.stop();
});

/** Starts a bot and greets it. */
async function begin(bot: Partial<Bot> = {}, offer: Partial<Offer> = {}): Promise<BotStream> {
  playing = new Playing(server, bot, offer);
  const stream = await server.bots.take();
  await stream.open();
  return stream;
}

const field = (number: number, bytes: Uint8Array | string): Uint8Array =>
  new BinaryWriter()
    .uint32((number << 3) | 2)
    .bytes(Buffer.from(bytes))
    .finish();

/** The details of an error of the server. */
function reasonOf(reason: string): Metadata {
  const info = Buffer.concat([field(1, reason), field(2, "ronda.v1")]);
  const any = [field(1, "type.googleapis.com/google.rpc.ErrorInfo"), field(2, info)];
  const metadata = new Metadata();
  metadata.set("grpc-status-details-bin", Buffer.from(field(3, Buffer.concat(any))));
  return metadata;
}

const HELLO_TIMEOUT = reasonOf("HELLO_TIMEOUT");

const hand = [Card.OROS_3, Card.COPAS_5];
const card = (value: Card) => ({ $case: "card", value }) as const;

test("a bot says who it is, with its key, and is ready only when it is prepared", async () => {
  let prepared = (): void => {};
  const prepare = (): Promise<void> => new Promise((resolve) => (prepared = resolve));
  playing = new Playing(server, {}, { prepare, maxSeats: 3, description: "a bot" });
  const stream = await server.bots.take();
  assert.deepEqual(stream.metadata.get("authorization"), ["Bearer rnd_k_test"]);
  const { name, version, maxSeats, description, places } = await stream.greet();
  assert.deepEqual([name, version, maxSeats, description], ["far", "1", 3, "a bot"]);
  assert.deepEqual(places, []);
  stream.started();
  stream.ask("d1", { hand });
  await stream.hears("answer"); // and no Ready before it
  prepared();
  await stream.hears("ready");
});

test("a preparation that fails ends the bot with its error", async () => {
  const problem = new Error("no table of openings");
  playing = new Playing(server, {}, { prepare: () => Promise.reject(problem) });
  await (await server.bots.take()).greet();
  assert.equal(await playing.done, problem);
});

test("a card and a declaration are answered by the id of their decision", async () => {
  const stream = await begin({ declare: () => true });
  stream.started();
  stream.ask("d1", { phase: View_Phase.DECLARE });
  assert.deepEqual(await stream.hears("answer"), {
    decisionId: "d1",
    choice: { $case: "declare", value: true },
  });
  stream.ask("d2", { hand });
  assert.deepEqual(await stream.hears("answer"), { decisionId: "d2", choice: card(Card.OROS_3) });
});

test("a bot without declare declares what it holds", async () => {
  const stream = await begin();
  stream.started();
  for (const mayDeclare of [true, false]) {
    stream.ask(`d${mayDeclare}`, { phase: View_Phase.DECLARE, mayDeclare });
    const { choice } = await stream.hears("answer");
    assert.deepEqual(choice, { $case: "declare", value: mayDeclare });
  }
});

test("a bot is told its time: what is left, its bank and its round trip", async () => {
  const told = new Queue<Time>();
  const stream = await begin({
    play: (view, time) => {
      told.put(time);
      return view.hand[0] ?? 0;
    },
  });
  stream.started();
  const remainingBank = { seconds: 2, nanos: 5e8 };
  stream.ask("d1", { hand }, { deadline: new Date(Date.now() + 3_600_000), remainingBank });
  const first = await told.take();
  assert.ok(first.left() > 0 && first.left() <= 3_600_000);
  assert.equal(first.bank, 2500);
  assert.equal(first.roundTrip, undefined);
  const lastRoundTrip = { seconds: 0, nanos: 4e6 };
  stream.ask("d2", { hand }, { deadline: new Date(0), lastRoundTrip });
  const second = await told.take();
  assert.equal(second.left(), 0);
  assert.equal(second.roundTrip, 4);
});

test("a lost stream is opened again, and goes on after the last event", async () => {
  const seen: number[] = [];
  const stream = await begin({ observe: (event) => void seen.push(event.sequence) });
  stream.started();
  for (const sequence of [1, 2, 3]) stream.event(sequence);
  stream.ask("d1", { hand });
  await stream.hears("answer");
  stream.fail(status.UNAVAILABLE);
  const again = await server.bots.take();
  const hello = await again.open();
  assert.deepEqual(hello.places, [{ matchId: "m1", seat: 0, afterSequence: 3 }]);
  again.started();
  for (const sequence of [3, 4]) again.event(sequence); // one of them is known
  again.ask("d2", { hand });
  await again.hears("answer");
  assert.deepEqual(seen, [1, 2, 3, 4]);
});

test("whatever the number of matches, Hello is no longer than the server reads", async () => {
  const stream = await begin();
  const ids = Array.from({ length: 600 }, (_, index) => `${index}`.padStart(64, "m"));
  for (const id of ids) {
    stream.started(id);
    stream.event(1_000_000, id);
  }
  stream.started(ids[100]); // told again: it is one of the newest now
  stream.ask("d1", { hand }, { matchId: ids[100] as string });
  await stream.hears("answer");
  stream.fail(status.UNAVAILABLE);
  const hello = await (await server.bots.take()).open();
  assert.ok(Hello.encode(hello).finish().length < 16_384);
  const told = hello.places.map(({ matchId }) => matchId);
  assert.ok(told.length > 100);
  assert.deepEqual(told, [...ids.slice(601 - told.length), ids[100]]);
});

test("a decision that is told again gets the same answer, and its bot is not asked again", async () => {
  let asked = 0;
  const stream = await begin({ play: (view) => view.hand[asked++] ?? 0 });
  stream.started();
  stream.ask("d1", { hand });
  await stream.hears("answer");
  stream.fail(status.INTERNAL);
  const again = await server.bots.take();
  await again.open();
  again.started();
  again.ask("d1", { hand });
  assert.deepEqual(await again.hears("answer"), { decisionId: "d1", choice: card(Card.OROS_3) });
  assert.equal(asked, 1);
});

test("an answer that is found while the stream is lost waits until its decision is told again", async () => {
  const thought = new Queue<Card>();
  const asked = new Queue<string>();
  const stream = await begin({
    play: async () => {
      asked.put("asked");
      return thought.take();
    },
  });
  stream.started();
  stream.ask("d1", { hand });
  await asked.take();
  stream.fail(status.UNAVAILABLE);
  const again = await server.bots.take();
  thought.put(Card.COPAS_5);
  await again.open();
  again.started();
  again.ask("d1", { hand });
  assert.equal((await again.hears("answer")).decisionId, "d1");
  thought.put(Card.OROS_3);
  again.ask("d2", { hand });
  assert.equal((await again.hears("answer")).decisionId, "d2"); // d1 was said once
});

test("silence for three heartbeats is a dead stream", async () => {
  playing = new Playing(server);
  const stream = await server.bots.take();
  await stream.open(20);
  const again = await server.bots.take();
  await again.open();
  await playing.said(/nothing was heard for too long: trying again/);
});

test("a sign of life is no fault, and changes nothing", async () => {
  const stream = await begin();
  stream.say({ $case: "alive", value: {} });
  stream.started();
  stream.ask("d1", { hand });
  await stream.hears("answer");
});

test("an answer that is rejected is dropped at once, and its decision is a new one if told again", async () => {
  let asked = 0;
  const stream = await begin({ play: (shown) => shown.hand[asked++] ?? 0 });
  stream.started();
  stream.ask("d1", { hand });
  assert.deepEqual((await stream.hears("answer")).choice, card(Card.OROS_3));
  const reason = AnswerRejected_Reason.LATE;
  stream.say({ $case: "answerRejected", value: { decisionId: "d1", reason } });
  await playing?.said(/dropped: LATE \(d1\)/);
  stream.ask("d1", { hand });
  assert.deepEqual((await stream.hears("answer")).choice, card(Card.COPAS_5));
});

test("a decision of a match that is over meanwhile is not answered", async () => {
  const thought = new Queue<Card>();
  const asked = new Queue<string>();
  const stream = await begin({
    play: async (view) => {
      asked.put(view.matchId);
      return view.matchId === "m1" ? thought.take() : Card.COPAS_5;
    },
  });
  stream.started("m1");
  stream.ask("d1", { hand });
  await asked.take();
  stream.over("m1");
  stream.started("m2");
  stream.ask("d2", { hand, matchId: "m2" }, { matchId: "m2" });
  assert.equal((await stream.hears("answer")).decisionId, "d2");
  thought.put(Card.OROS_3);
  stream.started("m3");
  stream.ask("d3", { hand, matchId: "m3" }, { matchId: "m3" });
  assert.equal((await stream.hears("answer")).decisionId, "d3");
});

test("a match in which a bot thinks holds up no other", async () => {
  const thought = new Queue<Card>();
  const stream = await begin({
    play: async (view) => (view.matchId === "m1" ? thought.take() : Card.COPAS_5),
  });
  stream.started("m1");
  stream.started("m2");
  stream.ask("d1", { hand, matchId: "m1" });
  stream.ask("d2", { hand, matchId: "m2" }, { matchId: "m2" });
  assert.equal((await stream.hears("answer")).decisionId, "d2");
  thought.put(Card.OROS_3);
  assert.equal((await stream.hears("answer")).decisionId, "d1");
});

test("a decision is answered on a stream that has told it, also where its answer was said before", async () => {
  const stream = await begin();
  stream.started();
  stream.ask("d1", { hand });
  const { choice } = await stream.hears("answer");
  stream.fail(status.UNAVAILABLE);
  const again = await server.bots.take();
  await again.open();
  again.started("m2");
  again.ask("e1", { hand, matchId: "m2" }, { matchId: "m2" });
  assert.equal((await again.hears("answer")).decisionId, "e1"); // and not d1, which is not told yet
  again.started();
  again.ask("d1", { hand });
  assert.deepEqual(await again.hears("answer"), { decisionId: "d1", choice });
});

test("an answer that was said twice stands, and is no news", async () => {
  let asked = 0;
  const stream = await begin({ play: (shown) => shown.hand[asked++] ?? 0 });
  stream.started();
  stream.ask("d1", { hand });
  await stream.hears("answer");
  const rejected = (reason: AnswerRejected_Reason) =>
    stream.say({ $case: "answerRejected", value: { decisionId: "d1", reason } });
  rejected(AnswerRejected_Reason.ALREADY_ANSWERED);
  stream.ask("d1", { hand });
  assert.deepEqual((await stream.hears("answer")).choice, card(Card.OROS_3));
  rejected(AnswerRejected_Reason.LATE);
  assert.match((await playing?.said(/dropped/)) ?? "", /LATE/); // the first that was told
});

test("seats of which a stream has told nothing when it has caught up are left", async () => {
  const stream = await begin();
  for (const id of ["m1", "m2"]) {
    stream.started(id);
    stream.event(3, id);
  }
  stream.say({ $case: "caughtUp", value: {} }); // both are told: nothing is forgotten
  stream.fail(status.UNAVAILABLE);
  const again = await server.bots.take();
  const told = (await again.open()).places.map(({ matchId }) => matchId);
  assert.deepEqual(told, ["m1", "m2"]);
  again.started("m2");
  again.say({ $case: "caughtUp", value: {} });
  await playing?.said(/^m1: seat 0 is over: no more is told of it$/);
  again.fail(status.UNAVAILABLE);
  const { places } = await (await server.bots.take()).open();
  assert.deepEqual(
    places.map(({ matchId }) => matchId),
    ["m2"],
  );
});

test("a Hello that came too late is said again", async () => {
  playing = new Playing(server);
  (await server.bots.take()).fail(status.DEADLINE_EXCEEDED, "no Hello came in time", HELLO_TIMEOUT);
  await playing.said(/^HELLO_TIMEOUT: no Hello came in time: trying again/);
  await (await server.bots.take()).open();
});

test("a limit without a time to wait is final", async () => {
  playing = new Playing(server);
  const metadata = reasonOf("TOO_MANY_NAMES");
  (await server.bots.take()).fail(status.RESOURCE_EXHAUSTED, "use one of them", metadata);
  const error = await playing.done;
  assert.ok(error instanceof StoppedError);
  assert.equal(error.message, "TOO_MANY_NAMES: use one of them");
});

for (const [reason, words] of [
  [ConnectionEnded_Reason.TAKEN_OVER, /taken over/],
  [ConnectionEnded_Reason.KEY_REVOKED, /revoked/],
] as const)
  test(`a bot stops for good when its stream ends by ${ConnectionEnded_Reason[reason]}`, async () => {
    const stream = await begin();
    stream.end(reason);
    const error = await playing?.done;
    assert.ok(error instanceof StoppedError);
    assert.match(error.message, words);
  });

for (const reason of [ConnectionEnded_Reason.DRAINING, ConnectionEnded_Reason.BOT_LEFT, 99])
  test(`a bot connects again when its stream ends by ${ConnectionEnded_Reason[reason] ?? "a reason of a later version"}`, async () => {
    const stream = await begin();
    stream.end(reason);
    await (await server.bots.take()).open();
  });

for (const code of [status.PERMISSION_DENIED, status.ALREADY_EXISTS, status.INVALID_ARGUMENT])
  test(`a bot stops at once on ${status[code]}, and says what the server says`, async () => {
    playing = new Playing(server);
    const stream = await server.bots.take();
    stream.fail(code, "la clé – 100%\u001b[31m");
    const error = await playing.done;
    assert.ok(error instanceof StoppedError);
    assert.equal(error.message, `${status[code]}: la clé – 100% [31m`);
  });

test("the server's reason is told, and the wait that it asks for is kept", async () => {
  playing = new Playing(server);
  const stream = await server.bots.take();
  const message = (field: number, bytes: Uint8Array | string): BinaryWriter =>
    new BinaryWriter().uint32((field << 3) | 2).bytes(Buffer.from(bytes));
  const detail = (type: string, value: Uint8Array): Uint8Array =>
    Buffer.concat([
      message(1, `type.googleapis.com/google.rpc.${type}`).finish(),
      message(2, value).finish(),
    ]);
  const info = Buffer.concat([
    message(1, "TOO_MANY_STREAMS").finish(),
    message(2, "ronda.v1").finish(),
  ]);
  const hour = Duration.encode({ seconds: 3600, nanos: 0 }).finish();
  const details = [
    detail("NewInfo", info),
    detail("ErrorInfo", info),
    detail("RetryInfo", message(1, hour).finish()),
  ];
  const metadata = new Metadata();
  const packed = Buffer.concat(details.map((one) => message(3, one).finish()));
  metadata.set("grpc-status-details-bin", packed);
  stream.fail(status.RESOURCE_EXHAUSTED, "later", metadata);
  await playing.said(/^TOO_MANY_STREAMS: later: trying again in 3600\.\d s$/);
});

test("details that are no status leave the code to be told", async () => {
  playing = new Playing(server);
  const metadata = new Metadata();
  metadata.set("grpc-status-details-bin", Buffer.from([0x1a, 0xff]));
  (await server.bots.take()).fail(status.RESOURCE_EXHAUSTED, "later", metadata);
  await playing.said(/^RESOURCE_EXHAUSTED: later: trying again/);
});

test("kinds, values and fields of a later version are skipped, and the bot plays on", async () => {
  const seen: (string | undefined)[] = [];
  const stream = await begin({ observe: (event: Event) => void seen.push(event.kind?.$case) });
  // A kind of message; then a known one with a field more.
  stream.bytes(
    new BinaryWriter()
      .uint32((90 << 3) | 2)
      .bytes(Buffer.from([8, 5]))
      .finish(),
  );
  stream.bytes(unknownField(new BinaryWriter()).finish());
  stream.started();
  // A kind of event, which has a number all the same.
  const event = new BinaryWriter()
    .uint32(8)
    .uint64(7)
    .uint32((99 << 3) | 2)
    .string("new");
  const matchEvent = new BinaryWriter().uint32(10).string("m1").uint32(26).bytes(event.finish());
  stream.bytes(
    new BinaryWriter()
      .uint32((5 << 3) | 2)
      .bytes(matchEvent.finish())
      .finish(),
  );
  stream.event(8);
  // Values: of a rejection, and of an award's reason or a card in a view.
  stream.say({
    $case: "answerRejected",
    value: { decisionId: "none", reason: 77 as AnswerRejected_Reason },
  });
  stream.ask("d1", {
    hand,
    declared: [{ batch: 1, seat: 1, kind: 5 as SetKind }],
    lastPlay: { seat: 1, card: 77 as Card, captured: [], reclaimed: [], esteLink: 9 },
  });
  assert.deepEqual((await stream.hears("answer")).choice, card(Card.OROS_3));
  assert.deepEqual(seen, ["cancelAgreed"]);
  stream.fail(status.UNAVAILABLE);
  const { places } = await (await server.bots.take()).open();
  assert.equal(places[0]?.afterSequence, 8);
});

test("a phase of a later version is answered as a crash, and holds nobody up", async () => {
  const stream = await begin();
  stream.started();
  stream.ask("d1", { hand, phase: 9 as View_Phase });
  assert.deepEqual((await stream.hears("answer")).choice, {
    $case: "crash",
    value: { kind: "UnknownPhase" },
  });
});

test("a bot that throws says so with the kind alone, and its owner is told the rest", async () => {
  const stream = await begin({
    play: () => {
      throw new RangeError("the secret 7O");
    },
  });
  stream.started();
  stream.ask("d1", { hand });
  assert.deepEqual((await stream.hears("answer")).choice, {
    $case: "crash",
    value: { kind: "RangeError" },
  });
  await playing?.said(/m1: seat 0: the bot has broken: RangeError: the secret 7O/);
});

test("a bot that cannot be made has crashed in that match alone", async () => {
  let made = 0;
  const stream = await begin(
    {},
    {
      bot: () => {
        made += 1;
        if (made === 1) throw new TypeError("no");
        return { play: () => Card.OROS_3 };
      },
    },
  );
  stream.started("m1");
  stream.started("m2");
  stream.ask("d1", { hand });
  assert.deepEqual((await stream.hears("answer")).choice, {
    $case: "crash",
    value: { kind: "TypeError" },
  });
  stream.ask("d2", { hand }, { matchId: "m2" });
  assert.deepEqual((await stream.hears("answer")).choice, card(Card.OROS_3));
});

test("what is no card is sent as no choice, for the server to judge", async () => {
  const stream = await begin({ play: () => Number.NaN });
  stream.started();
  stream.ask("d1", { hand });
  assert.equal((await stream.hears("answer")).choice, undefined);
});

test("a bot that is stopped says goodbye first", async () => {
  const stream = await begin();
  const stopped = playing?.stop();
  await stream.left;
  assert.equal(await stopped, undefined);
});

test("a message is decoded as it was said", () => {
  const sentTime = new Date("2026-01-02T03:04:05.678Z");
  const said = { sentTime, message: { $case: "alive", value: {} } } as const;
  assert.deepEqual(ConnectResponse.decode(ConnectResponse.encode(said).finish()), said);
});
