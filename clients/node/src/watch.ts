/** Tells on standard output what happens in a public match, a line for each event. */

import { parseArgs } from "node:util";

import { text } from "./cards.js";
import { command, log, UsageError } from "./command.js";
import { follow } from "./follow.js";
import type { Event, Play } from "./gen/ronda/v1/event.js";
import { type Result, Result_Outcome } from "./gen/ronda/v1/match.js";
import type { View } from "./gen/ronda/v1/view.js";
import { Server } from "./line.js";

const USAGE = "usage: node dist/watch.js --server HOST:PORT MATCH_ID";

await command(USAGE, async (signal) => {
  const { values, positionals } = parseArgs({
    options: { server: { type: "string" } },
    allowPositionals: true,
  });
  const [matchId] = positionals;
  const address = values.server ?? process.env["RONDA_SERVER"];
  if (!address || !matchId) throw new UsageError("name the server and the match");
  const say = (line: string): void => console.log(line);
  const follower = {
    view: (view: View) => say(standing(view)),
    event: (event: Event) => say(story(event)),
  };
  await follow(new Server(address), matchId, follower, { signal, log });
});

function standing(view: View): string {
  if (view.result) return `${view.sequence}: ${over(view.result)}`;
  const table = view.table.map(text).join(" ") || "empty";
  return `${view.sequence}: hand ${view.handNumber}, ${view.scores.join("-")}, table ${table}`;
}

function story({ sequence, kind }: Event): string {
  switch (kind?.$case) {
    case "cardsDealt":
      return `${sequence}: hand ${kind.value.handNumber}, batch ${kind.value.batch} is dealt`;
    case "cardPlayed":
      return `${sequence}: ${played(kind.value.play)}, ${kind.value.scores.join("-")}`;
    case "handEnded":
      return `${sequence}: hand ${kind.value.handNumber} ends ${kind.value.scores.join("-")}`;
    case "matchEnded":
      return `${sequence}: ${over(kind.value.result)}`;
    default: // what is not told here, and what came after this version
      return `${sequence}: ${kind?.$case ?? "something new"}`;
  }
}

function over(result: Result | undefined): string {
  const outcome = (result && Result_Outcome[result.outcome]) ?? "?";
  return `over by ${outcome.toLowerCase()} ${result?.scores.join("-") ?? ""}`;
}

function played(play: Play | undefined): string {
  if (!play) return "?";
  const took = [...play.captured, ...play.reclaimed].map(text).join(" ");
  return `seat ${play.seat} plays ${text(play.card)}${took && ` and takes ${took}`}`;
}
