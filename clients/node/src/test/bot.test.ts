import assert from "node:assert/strict";
import { test } from "node:test";

import { greedy } from "../bot.js";
import { rank, text } from "../cards.js";
import { Card } from "../gen/ronda/v1/card.js";
import { View_Phase } from "../gen/ronda/v1/view.js";
import { MatchStarted } from "../gen/ronda/v1/bot_service.js";
import { view } from "./fake.js";

const bot = greedy.bot(MatchStarted.fromPartial({}));
const time = { left: () => 1000, bank: 0, roundTrip: undefined };
const plays = (given: Parameters<typeof view>[0]) => bot.play(view(given), time);

test("a card is its rank and the first letter of its suit", () => {
  assert.equal(text(Card.OROS_7), "7O");
  assert.equal(text(Card.ESPADAS_12), "12E");
  assert.equal(text(Card.BASTOS_10), "10B");
  assert.equal(rank(Card.COPAS_11), 11);
  assert.equal(rank(Card.UNSPECIFIED), 0);
});

test("the bot takes the longest run, across the gap between 7 and 10", () => {
  const table = [Card.OROS_1, Card.OROS_6, Card.OROS_7, Card.OROS_10, Card.OROS_12];
  const hand = [Card.COPAS_1, Card.COPAS_6, Card.COPAS_12];
  assert.equal(plays({ table, hand }), Card.COPAS_6);
});

test("an este is worth more than cards, and so is an empty table", () => {
  const table = [Card.OROS_1, Card.OROS_2, Card.OROS_3, Card.OROS_10];
  const hand = [Card.COPAS_1, Card.BASTOS_10];
  assert.equal(plays({ table, hand }), Card.COPAS_1);
  assert.equal(plays({ table, hand, chainRank: 10 }), Card.BASTOS_10);
  const missa = { table: [Card.OROS_4], hand: [Card.BASTOS_11, Card.BASTOS_4] };
  assert.equal(plays(missa), Card.BASTOS_4);
});

test("where nothing is gained the lowest card goes", () => {
  assert.equal(plays({ hand: [Card.BASTOS_12, Card.COPAS_5] }), Card.COPAS_5);
});

test("the bot declares what it holds", () => {
  for (const mayDeclare of [true, false])
    assert.equal(bot.declare?.(view({ phase: View_Phase.DECLARE, mayDeclare }), time), mayDeclare);
});
