import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, afterEach, test } from "node:test";
import { fileURLToPath } from "node:url";

import { status } from "@grpc/grpc-js";

import { Result_Outcome } from "../gen/ronda/v1/match.js";
import { StreamEnded_Reason } from "../gen/ronda/v1/match_service.js";
import { FakeServer, view } from "./fake.js";

const path = (command: string): string =>
  fileURLToPath(new URL(`../${command}.js`, import.meta.url));

let server: FakeServer;
let folder: string;
let keyFile: string;

before(() => {
  folder = mkdtempSync(join(tmpdir(), "ronda-"));
  keyFile = join(folder, "my.key");
  writeFileSync(keyFile, "rnd_k_file\n", { mode: 0o600 });
});
after(() => rmSync(folder, { recursive: true }));
beforeEach(async () => {
  server = await FakeServer.start();
});
afterEach(() => server.stop());

/** Starts a command whose standard input is closed. */
function start(command: string, args: string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [path(command), ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env["PATH"], ...env },
  });
  const said = { out: "", err: "" };
  child.stdout.on("data", (chunk) => (said.out += String(chunk)));
  child.stderr.on("data", (chunk) => (said.err += String(chunk)));
  const code = new Promise<number | null>((resolve) => child.on("close", resolve));
  return { child, said, code };
}

const main = (args: string[], env: Record<string, string> = {}) =>
  start("main", ["--server", server.address, ...args], env);

test("the key is read from a file or the environment, and sent", async () => {
  for (const [args, env] of [
    [["--key-file", keyFile, "--name", "one", "--max-seats", "3"], {}],
    [[], { RONDA_KEY_FILE: keyFile }],
    [[], { RONDA_KEY: "rnd_k_file" }],
  ] as [string[], Record<string, string>][]) {
    const { child, code } = main(args, env);
    const stream = await server.bots.take();
    assert.deepEqual(stream.metadata.get("authorization"), ["Bearer rnd_k_file"]);
    await stream.open();
    child.kill("SIGTERM");
    assert.equal(await code, 130);
  }
});

for (const signal of ["SIGINT", "SIGTERM"] as const)
  test(`${signal} in a match ends it with 130, though the server says nothing`, async () => {
    server.deaf = true;
    const { child, said, code } = main(["--key-file", keyFile, "--name", "mine"]);
    const stream = await server.bots.take();
    const { name } = await stream.open();
    assert.equal(name, "mine");
    stream.started();
    child.kill(signal);
    assert.equal(await code, 130);
    assert.match(said.err, /left: the same command goes on/);
    assert.equal(said.out, "");
  });

test("a signal ends a bot that waits for its server", async () => {
  const { child, said, code } = start("main", ["--server", "127.0.0.1:1", "--key-file", keyFile]);
  await new Promise((resolve) => child.stderr.once("data", resolve));
  child.kill("SIGTERM");
  assert.equal(await code, 130);
  assert.match(said.err, /ECONNREFUSED 127\.0\.0\.1:1: trying again in [0-9.]+ s\n/);
});

test("a key that the server does not take ends it with 4", async () => {
  const { said, code } = main(["--key-file", keyFile]);
  (await server.bots.take()).fail(status.UNAUTHENTICATED, "there is no such key");
  assert.equal(await code, 4);
  assert.equal(
    said.err,
    "the key is not one of this server, or no longer: check --key-file\n", // as the terminal says it
  );
  assert.doesNotMatch(said.err, /rnd_k_file/);
});

test("who asks for help gets the usage on standard output", async () => {
  for (const [command, args] of [
    ["main", ["--help"]],
    ["main", ["-h", "--max-seats", "none"]],
    ["watch", ["--help"]],
  ] as const) {
    const { said, code } = start(command, [...args]);
    assert.equal(await code, 0);
    assert.match(said.out, new RegExp(`^usage: node dist/${command}\\.js .*\n$`));
    assert.equal(said.err, "");
  }
});

test("a command line that is wrong ends with 2 and the usage", async () => {
  const none = join(folder, "none");
  const empty = join(folder, "empty");
  writeFileSync(empty, "\n");
  chmodSync(empty, 0o644);
  const ends = [
    [start("main", []), /name the server/],
    [main([]), /name the file of your key/],
    [main(["--key-file", none]), /none/],
    [main(["--key-file", empty]), /others may read .*empty[^]*empty holds no key/],
    [main(["--key-file", keyFile, "--max-seats", "none"]), /--max-seats is a number/],
    [main(["--key", "rnd_k_argv"]), /'--key'/],
    [start("watch", ["--server", server.address]), /name the server and the match/],
  ] as const;
  for (const [{ said, code }, words] of ends) {
    assert.equal(await code, 2);
    assert.match(said.err, words);
    assert.match(said.err, /usage: node dist/);
  }
});

test("a match that is over is told by its end", async () => {
  const { said, code } = start("watch", ["--server", server.address, "m1"]);
  const stream = await server.watchers.take();
  const result = { outcome: Result_Outcome.HAND, winner: 0, scores: [12, 9], fault: undefined };
  stream.say({ $case: "view", value: view({ sequence: 60, result }) });
  stream.end(StreamEnded_Reason.MATCH_OVER, 60);
  assert.equal(await code, 0);
  assert.equal(said.out, "60: over by hand 12-9\n");
});

test("a match is told on standard output, a line for each event", async () => {
  const { said, code } = start("watch", ["--server", server.address, "m1"]);
  const stream = await server.watchers.take();
  stream.say({ $case: "view", value: view({ sequence: 3, scores: [1, 0] }) });
  const play = { seat: 1, card: 7, captured: [17], reclaimed: [], esteLink: 0 };
  const value = { play, awards: [], scores: [1, 2], pileCounts: [], turn: undefined };
  const kind = { $case: "cardPlayed", value } as const;
  stream.say({ $case: "event", value: { sequence: 4, eventTime: undefined, kind } });
  stream.say({ $case: "event", value: { sequence: 5, eventTime: undefined, kind: undefined } });
  stream.end(StreamEnded_Reason.MATCH_OVER, 5);
  assert.equal(await code, 0);
  assert.deepEqual(said.out.trim().split("\n"), [
    "3: hand 1, 1-0, table empty",
    "4: seat 1 plays 7O and takes 7C, 1-2",
    "5: something new",
  ]);
});
