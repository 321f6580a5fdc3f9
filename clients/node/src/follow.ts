/** Follows a match as everyone may see it, over as many streams as it takes. */

import type { Event } from "./gen/ronda/v1/event.js";
import { MatchServiceClient, StreamEnded_Reason } from "./gen/ronda/v1/match_service.js";
import type { View } from "./gen/ronda/v1/view.js";
import { keepConnected, listen, type Log, Patience, type Server, StoppedError } from "./line.js";

/** What a follower is told: first how things stand, then what happens, each event once. */
export interface Follower {
  view(view: View): void;
  event(event: Event): void;
}

/** The server lets a stream be quiet for ten seconds at most. */
const HEARTBEAT = 10_000;

export interface FollowOptions {
  readonly signal: AbortSignal;
  readonly log?: Log;
  readonly patience?: Patience;
}

/** Tells of a match to its end, or until the signal aborts. */
export async function follow(
  server: Server,
  matchId: string,
  follower: Follower,
  { signal, log = () => {}, patience = new Patience() }: FollowOptions,
): Promise<void> {
  let after = 0;
  const over = new AbortController(); // for the match as for the follower
  signal.addEventListener("abort", () => over.abort(), { once: true });
  const connect = async (): Promise<string> => {
    const client = new MatchServiceClient(server.address, server.credentials, server.options);
    const call = client.watchMatch({ matchId, afterSequence: after, includeViews: false });
    const leave = (): void => call.cancel();
    over.signal.addEventListener("abort", leave, { once: true });
    try {
      return await listen(call, HEARTBEAT, ({ update }) => {
        patience.succeeded();
        switch (update?.$case) {
          case "view":
            after = update.value.sequence;
            follower.view(update.value);
            break;
          case "event":
            if (update.value.sequence <= after) break; // known from an earlier stream
            after = update.value.sequence;
            follower.event(update.value);
            break;
          case "ended":
            if (update.value.reason === StreamEnded_Reason.MATCH_OVER) over.abort();
            return ended(update.value.reason);
          default: // a heartbeat, or something that came after this version
        }
        return undefined;
      });
    } catch (error) {
      if (over.signal.aborted) return "left";
      throw error;
    } finally {
      over.signal.removeEventListener("abort", leave);
      client.close();
    }
  };
  await keepConnected(connect, patience, over.signal, log);
}

/** Returns why a stream ended that is to be opened again, or throws where it is not. */
function ended(reason: StreamEnded_Reason): string {
  if (reason === StreamEnded_Reason.TAKEN_OVER)
    throw new StoppedError("another stream of this seat has taken over");
  if (reason === StreamEnded_Reason.MATCH_EXPIRED)
    throw new StoppedError("the server no longer keeps this match");
  return `the server ended the stream (${StreamEnded_Reason[reason] ?? reason})`;
}
