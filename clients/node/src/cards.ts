/** Cards as arithmetic: number = 10 * suit + step + 1. */

import type { Card } from "./gen/ronda/v1/card.js";

const RANKS = [1, 2, 3, 4, 5, 6, 7, 10, 11, 12];
const SUITS = "OCEB";

/** The place of a card's rank on the ladder 1 to 7, 10 to 12, counted from 0. */
export const step = (card: Card): number => (card - 1) % 10;

/** 1 to 7 or 10 to 12; 0 for what is no card. */
export const rank = (card: Card): number => RANKS[step(card)] ?? 0;

/** Rank and suit, such as `7O`. */
export const text = (card: Card): string =>
  `${rank(card)}${SUITS[Math.trunc((card - 1) / 10)] ?? "?"}`;
