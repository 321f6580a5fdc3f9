/** One seat of one match: its bot is told and asked one thing after another. */

import type { Answer, Decision } from "./gen/ronda/v1/bot_service.js";
import type { Card } from "./gen/ronda/v1/card.js";
import type { Event } from "./gen/ronda/v1/event.js";
import { type View, View_Phase } from "./gen/ronda/v1/view.js";
import type { Log } from "./line.js";
import { milliseconds } from "./text.js";

/** What plays a seat. An exception, or a promise that is rejected, forfeits the match by `crash`. */
export interface Bot {
  /** Returns a card of `view.hand`. */
  play(view: View, time: Time): Card | Promise<Card>;
  /** Says whether to declare; without it, what is held is declared. */
  declare?(view: View, time: Time): boolean | Promise<boolean>;
  /** Is told every event of the match once, in order. */
  observe?(event: Event): void | Promise<void>;
}

/** The time of one decision. */
export interface Time {
  /** Milliseconds until the deadline, counted from when the server sent the decision. */
  left(): number;
  /** What is left of the seat's bank beyond that, in milliseconds. */
  readonly bank: number;
  /** How long the last answer took there and back, in milliseconds; undefined before the first. */
  readonly roundTrip: number | undefined;
}

type Choice = Answer["choice"];

export class SeatPlayer {
  /** The number of the last event that was passed on. */
  after = 0;
  #bot: Bot | undefined;
  #asked = "";
  /** Whether the open stream has told of what is asked: else the next one will. */
  #heard = false;
  #answer: Answer | undefined;
  #crash: Choice;
  #work: Promise<void> = Promise.resolve();

  /** `make` makes the bot; `say` sends an answer, wherever the stream is by then. */
  constructor(
    make: () => Bot,
    private readonly say: (answer: Answer) => void,
    private readonly log: Log,
  ) {
    this.#next(() => {
      this.#bot = make();
    });
  }

  /** Passes an event on, once. One of a kind that is not known has a number all the same. */
  told(event: Event): void {
    if (event.sequence <= this.after) return;
    this.after = event.sequence;
    if (event.kind) this.#next(() => this.#bot?.observe?.(event));
  }

  /** Asks the bot, once; what it has answered already is said again. */
  asked(decision: Decision, sent: Date | undefined): void {
    const id = decision.decisionId;
    this.#heard = true;
    if (id === this.#asked) {
      if (this.#answer) this.say(this.#answer);
      return;
    }
    this.#asked = id;
    this.#answer = undefined;
    const time = clock(decision, sent);
    this.#next(async () => {
      let choice: Choice;
      await this.#guard(async () => {
        choice = await this.#choose(decision.view, time);
      });
      if (this.#asked !== id) return; // nobody waits for it any more
      this.#answer = { decisionId: id, choice: this.#crash ?? choice };
      if (this.#heard) this.say(this.#answer);
    });
  }

  /** The stream is over; what is open will be told again. */
  lost(): void {
    this.#heard = false;
  }

  /** Forgets an answer that was dropped. Should its decision be told again, it is a new one. */
  dropped(decisionId: string): void {
    if (decisionId === this.#asked) this.over();
  }

  /** Nothing is waited for any more. */
  over(): void {
    this.#asked = "";
    this.#answer = undefined;
  }

  async #choose(view: View | undefined, time: Time): Promise<Choice> {
    if (this.#crash || !this.#bot) return this.#crash;
    switch (view?.phase) {
      case View_Phase.DECLARE: {
        const value = (await this.#bot.declare?.(view, time)) ?? view.mayDeclare;
        return typeof value === "boolean" ? { $case: "declare", value } : undefined;
      }
      case View_Phase.PLAY: {
        const value = await this.#bot.play(view, time);
        return Number.isInteger(value) ? { $case: "card", value } : undefined;
      }
      default: // something that came after this version: say so, and hold nobody up
        return { $case: "crash", value: { kind: "UnknownPhase" } };
    }
  }

  #next(step: () => void | Promise<void>): void {
    this.#work = this.#work.then(() => this.#guard(step));
  }

  /** Whatever a bot throws costs it this match, and is told to whoever runs it. */
  async #guard(step: () => void | Promise<void>): Promise<void> {
    try {
      await step();
    } catch (problem) {
      const error = problem instanceof Error ? problem : new Error(String(problem));
      this.log(`the bot has broken: ${error.stack ?? error.message}`);
      const kind = error.name.replace(/\W/g, "").slice(0, 40);
      this.#crash ??= { $case: "crash", value: { kind } };
    }
  }
}

function clock(decision: Decision, sent: Date | undefined): Time {
  const begun = performance.now();
  const given = decision.deadline && sent ? decision.deadline.getTime() - sent.getTime() : Infinity;
  return {
    left: () => Math.max(0, given - (performance.now() - begun)),
    bank: milliseconds(decision.remainingBank),
    roundTrip: decision.lastRoundTrip && milliseconds(decision.lastRoundTrip),
  };
}
