/** Secrets come from a file or the environment, never from the command line. */

import { closeSync, fstatSync, openSync, readSync } from "node:fs";

import type { Log } from "./line.js";

const LONGEST = 4096;

/** Reads a key, and warns where others may read it. */
export function readKey(file: string, log: Log): string {
  const opened = openSync(file, "r");
  try {
    const buffer = Buffer.alloc(LONGEST + 1);
    const length = readSync(opened, buffer);
    const { mode } = fstatSync(opened);
    if (process.platform !== "win32" && mode & 0o077)
      log(`others may read ${file}: run chmod 600 on it`);
    return checkKey(buffer.toString("latin1", 0, length), file);
  } finally {
    closeSync(opened);
  }
}

/** Returns a key without the space around it. What is wrong with it is told without it. */
export function checkKey(text: string, where: string): string {
  const key = text.trim();
  if (text.length > LONGEST || !/^[\x21-\x7e]+$/.test(key))
    throw new Error(`${where} holds no key`);
  return key;
}
