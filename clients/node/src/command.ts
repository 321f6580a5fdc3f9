/** What the two commands have in common: signals, messages and exit codes. */

import { StoppedError } from "./line.js";

export class UsageError extends Error {}

export const log = (line: string): void => console.error(line);

/**
 * Runs a command to its end and exits: 0 done or asked for help, 2 usage, 4 refused, 130 interrupted, 1 a fault of
 * this program. They are those of the command `ronda`.
 */
export async function command(
  usage: string,
  body: (signal: AbortSignal) => Promise<void>,
): Promise<never> {
  if (process.argv.slice(2).some((word) => word === "--help" || word === "-h")) {
    console.log(usage);
    process.exit(0);
  }
  process.stderr.on("error", () => {}); // nobody reads it: the matches go on
  const stopping = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const)
    process.on(name, () => (stopping.signal.aborted ? process.exit(130) : stopping.abort()));
  try {
    await body(stopping.signal);
    process.exit(stopping.signal.aborted ? 130 : 0);
  } catch (error) {
    const usageFault = error instanceof UsageError || isArgumentError(error);
    if (usageFault) log(`${(error as Error).message}\n${usage}`);
    else if (error instanceof StoppedError) log(error.message);
    else log(error instanceof Error ? (error.stack ?? error.message) : String(error));
    process.exit(usageFault ? 2 : error instanceof StoppedError ? 4 : 1);
  }
}

const isArgumentError = (error: unknown): boolean =>
  error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS_");
