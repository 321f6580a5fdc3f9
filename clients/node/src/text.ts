/** Values of the wire in the form that JavaScript and terminals like. */

import type { Duration } from "./gen/google/protobuf/duration.js";

export const milliseconds = (span: Duration | undefined): number =>
  span ? span.seconds * 1000 + span.nanos / 1e6 : 0;

/** What others wrote, safe for a terminal: one line, no controls, not too long. */
export const oneLine = (text: string, most = 200): string =>
  text.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, " ").slice(0, most);
