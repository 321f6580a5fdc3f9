import assert from "node:assert/strict";
import { test } from "node:test";

import { Patience, Pulse, Server } from "../line.js";
import { oneLine } from "../text.js";

test("waits grow to five seconds and no further", () => {
  const patience = new Patience(250, () => 1);
  const waits = Array.from({ length: 8 }, () => patience.next());
  assert.deepEqual(waits, [250, 500, 1000, 2000, 4000, 5000, 5000, 5000]);
});

test("no two clients wait in step: a wait is between half and whole", () => {
  assert.equal(new Patience(250, () => 0).next(), 125);
  assert.equal(new Patience(250, () => 0.5).next(), 187.5);
});

test("only a stream that lasts makes waits short again", () => {
  let now = 0;
  const patience = new Patience(
    250,
    () => 1,
    () => now,
  );
  patience.next();
  patience.succeeded();
  assert.equal(patience.next(), 500); // greeted, and ended at once
  patience.succeeded();
  now += Patience.longest + 1;
  assert.equal(patience.next(), 250);
});

test("a stream is dead after the third quiet period, and a sign of life counts anew", () => {
  let died = 0;
  const pulse = new Pulse(3_600_000, () => (died += 1));
  pulse.tick();
  pulse.tick();
  pulse.heard();
  pulse.tick();
  pulse.tick();
  assert.equal(died, 0);
  pulse.tick();
  pulse.tick();
  assert.equal(died, 1);
  pulse.stop();
});

test("a server is HOST:PORT, encrypted beyond loopback unless it says otherwise", () => {
  for (const [given, address, secure] of [
    ["127.0.0.1:50051", "127.0.0.1:50051", false],
    ["[::1]:50051", "[::1]:50051", false],
    ["localhost:1", "localhost:1", false],
    ["ronda.example:443", "ronda.example:443", true],
    ["localhost.example:443", "localhost.example:443", true],
    ["http://ronda.example:80/", "ronda.example:80", false],
    ["https://127.0.0.1:443", "127.0.0.1:443", true],
  ] as const) {
    const server = new Server(given);
    assert.equal(server.address, address);
    assert.equal(server.credentials._isSecure(), secure);
  }
  for (const given of ["", "ronda.example", "ftp://ronda.example:1", "a b:1"])
    assert.throws(() => new Server(given), RangeError);
});

test("what others wrote is one line without controls", () => {
  assert.equal(oneLine("a\u001b[2J\r\nb\u202ec\u2028d"), "a [2J b c d");
  assert.equal(oneLine("x".repeat(300)).length, 200);
});
