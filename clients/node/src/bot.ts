/** An example: a bot that takes what it can get now. Copy this file and make it yours. */

import { rank, step } from "./cards.js";
import type { Bot, Offer } from "./client.js";
import type { Card } from "./gen/ronda/v1/card.js";
import type { View } from "./gen/ronda/v1/view.js";

/** What the first, second and third este of a chain pay. */
const ESTE = [0, 1, 5, 10];

class Greedy implements Bot {
  /** Plays the card that gains most; of equal ones the lowest. Every card held may be played. */
  play(view: View): Card {
    const hand = [...view.hand].sort((one, other) => step(one) - step(other));
    return hand.reduce((best, card) => (gain(view, card) > gain(view, best) ? card : best));
  }

  /** Says what it holds. Without this method a bot does the same. */
  declare(view: View): boolean {
    return view.mayDeclare;
  }
}

/** Tells what a card brings at once: a point counts as ten cards. */
function gain(view: View, card: Card): number {
  const table = new Set(view.table.map(step));
  let taken = 0;
  while (table.delete(step(card) + taken)) taken += 1; // the rank itself, and the run above it
  const link = rank(card) === view.chainRank ? view.chainLink + 1 : 0;
  const missa = taken > 0 && table.size === 0 ? 1 : 0;
  const reclaimed = link > 1 ? view.pack.length : 0;
  return 10 * ((ESTE[link] ?? 0) + missa) + taken + reclaimed;
}

export const greedy: Offer = {
  name: "node-greedy",
  version: "1.0.0",
  description: "Takes the most points now, then the most cards; written in TypeScript",
  bot: () => new Greedy(),
};
