import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Returns the text of every file below a folder. */
function texts(folder: string): Map<string, string> {
  const files = readdirSync(folder)
    .map((name) => join(folder, name))
    .flatMap((path) =>
      statSync(path).isDirectory()
        ? [...texts(path).keys()].map((name) => join(path, name))
        : [path],
    );
  return new Map(files.map((path) => [relative(folder, path), readFileSync(path, "utf8")]));
}

test("the committed stubs are what the contract generates", () => {
  const fresh = mkdtempSync(join(tmpdir(), "ronda-"));
  try {
    execFileSync("npm", ["run", "--silent", "generate", "--", "--output", fresh], {
      cwd: root,
      shell: process.platform === "win32",
    });
    assert.deepEqual(texts(join(root, "src", "gen")), texts(join(fresh, "src", "gen")));
  } finally {
    rmSync(fresh, { recursive: true });
  }
});
