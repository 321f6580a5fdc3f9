/** Offers the example bot to a server, and plays there. */

import { parseArgs } from "node:util";

import { greedy } from "./bot.js";
import { BotClient } from "./client.js";
import { command, log, UsageError } from "./command.js";
import { checkKey, readKey } from "./key.js";
import { Server } from "./line.js";

const USAGE =
  "usage: node dist/main.js --server HOST:PORT --key-file FILE [--name NAME] [--max-seats N]";

await command(USAGE, async (signal) => {
  const { values } = parseArgs({
    options: {
      server: { type: "string" },
      "key-file": { type: "string" },
      name: { type: "string" },
      "max-seats": { type: "string" },
    },
  });
  const seats = values["max-seats"] ?? "16";
  if (!/^[1-9][0-9]{0,4}$/.test(seats)) throw new UsageError("--max-seats is a number from 1");
  const offer = { ...greedy, name: values.name ?? greedy.name, maxSeats: Number(seats) };
  const client = new BotClient(offer, {
    server: server(values.server),
    key: key(values["key-file"]),
    log,
  });
  await client.run(signal);
  log("left: the same command goes on");
});

function server(given: string | undefined): Server {
  try {
    return new Server(given ?? process.env["RONDA_SERVER"] ?? "");
  } catch {
    throw new UsageError("name the server: --server HOST:PORT (or RONDA_SERVER)");
  }
}

function key(given: string | undefined): string {
  const file = given ?? process.env["RONDA_KEY_FILE"];
  const held = process.env["RONDA_KEY"];
  try {
    if (file) return readKey(file, log);
    if (held) return checkKey(held, "RONDA_KEY");
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
  throw new UsageError(
    "name the file of your key: --key-file FILE (or RONDA_KEY_FILE, or RONDA_KEY)",
  );
}
