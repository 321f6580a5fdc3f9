import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { status } from "@grpc/grpc-js";

import { follow } from "../follow.js";
import { StreamEnded_Reason } from "../gen/ronda/v1/match_service.js";
import { Patience, Server, StoppedError } from "../line.js";
import { FakeServer, view } from "./fake.js";

let fake: FakeServer;
let stopping: AbortController;
let told: string[];
let done: Promise<unknown>;

beforeEach(async () => {
  fake = await FakeServer.start();
  stopping = new AbortController();
  told = [];
  const follower = {
    view: ({ sequence }: { sequence: number }) => void told.push(`view ${sequence}`),
    event: ({ sequence }: { sequence: number }) => void told.push(`event ${sequence}`),
  };
  const options = { signal: stopping.signal, patience: new Patience(1) };
  done = follow(new Server(fake.address), "m1", follower, options).then(
    () => undefined,
    (error: unknown) => error,
  );
});

afterEach(async () => {
  stopping.abort();
  await done;
  fake.stop();
});

const event = (sequence: number) =>
  ({ $case: "event", value: { sequence, eventTime: undefined, kind: undefined } }) as const;

test("a match is followed to its end over a lost stream, each event once", async () => {
  const first = await fake.watchers.take();
  assert.deepEqual(first.request, { matchId: "m1", afterSequence: 0, includeViews: false });
  first.say({ $case: "view", value: view({ sequence: 3 }) });
  first.say(event(4));
  first.bytes(
    new BinaryWriter()
      .uint32((90 << 3) | 2)
      .string("a later version's")
      .finish(),
  );
  first.say({ $case: "heartbeat", value: { sequence: 4 } });
  first.fail(status.UNAVAILABLE);
  const second = await fake.watchers.take();
  assert.equal(second.request.afterSequence, 4);
  second.say(event(4));
  second.say(event(5));
  second.end(StreamEnded_Reason.DRAINING, 5);
  const third = await fake.watchers.take();
  assert.equal(third.request.afterSequence, 5);
  third.end(StreamEnded_Reason.MATCH_OVER, 5);
  assert.equal(await done, undefined);
  assert.deepEqual(told, ["view 3", "event 4", "event 5"]);
});

test("a match that is not there is not asked for again", async () => {
  (await fake.watchers.take()).fail(status.NOT_FOUND);
  assert.ok((await done) instanceof StoppedError);
});

test("a stream that is taken over is not opened again", async () => {
  (await fake.watchers.take()).end(StreamEnded_Reason.TAKEN_OVER, 0);
  assert.ok((await done) instanceof StoppedError);
});

test("a follower that is stopped ends without an error", async () => {
  await fake.watchers.take();
  stopping.abort();
  assert.equal(await done, undefined);
});
