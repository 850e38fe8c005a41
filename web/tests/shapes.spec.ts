/** What the command writes into pages, and serves, has the shapes that `web/src` declares. SLACKWATER names the binary. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "@playwright/test";
import { type Sample, wrongShapes } from "./shapes";

const command = process.env["SLACKWATER"] ?? resolve("../target/debug/slackwater");
let folder: string;
let server: ChildProcess;
let address: string;

/** A cell with a function at its edge, and a queue that drops and marks: each kind of event and of curve. */
const CELL = `name = "cell"
duration = "4 s"
[path]
rtt = "20 ms"
[cell]
rat = "lte"
rlc = { buffer = "100 kB" }
[upf]
vaqm.mode = "window"
[[ue]]
channel = { kind = "mcs", mcs = 12 }
[[flow]]
controller = "cubic"
[[flow]]
controller = "prague"
start = "500 ms"
`;

test.beforeAll(async () => {
  test.setTimeout(300_000);
  folder = mkdtempSync(join(tmpdir(), "slackwater-shapes-"));
  const cell = join(folder, "cell.toml");
  writeFileSync(cell, CELL);
  const made = (...words: string[]) => {
    // Status 1: a claim misses, which it may in so short a look.
    try {
      execFileSync(command, words, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
    } catch (e) {
      if ((e as { status: number }).status !== 1) throw e;
    }
  };
  made("run", cell, "--out", "runs/one");
  made("compare", cell, "--controllers", "cubic,bbr", "--seeds", "3", "--out", "runs/compared");
  made("arena", "--quick", "--seeds", "2", "--cells", "lte-steps,rival", "--systems", "xrc,cubic,cubic+vaqm", "--out", "runs/arena");
  made("arena", "--quick", "--drawn", "bulk:1-2", "--systems", "cubic,xrc,cubic+vaqm", "--out", "runs/drawn");
  made("repro", "vaqm", "--quick", "--seeds", "1", "--max-seeds", "1", "--only", "signal,loads", "-o", "all/vaqm");
  // The other papers have no claims: their pages are of the same kind.
  const version = execFileSync(command, ["--version"]).toString().trim().split(" ")[1];
  for (const paper of ["xrc", "cecc", "al4s", "tyrus", "ebb", "rfc8867"]) {
    mkdirSync(join(folder, "all", paper), { recursive: true });
    const none = { paper, title: paper, version, seeds: [1], claims: [], relations: [], left_out: 0 };
    writeFileSync(join(folder, "all", paper, "checks.json"), JSON.stringify(none));
  }
  made("repro", "all", "--saved", "-o", "all");
  server = spawn(command, ["serve", join(folder, "runs"), "--port", "0"]);
  address = await new Promise<string>((found, failed) => {
    server.stdout?.once("data", (data: Buffer) => found(data.toString().trim()));
    server.once("exit", (code) => failed(new Error(`slackwater serve ended with ${code}`)));
  });
});

test.afterAll(() => {
  server?.kill();
  rmSync(folder, { recursive: true, force: true });
});

/** The data of a page. */
function embedded(html: string): unknown {
  const [, data] = /<script type="application\/json" id="data">(.*?)<\/script>/s.exec(html) ?? [];
  return JSON.parse(data ?? "");
}

const page = (path: string) => embedded(readFileSync(join(folder, path), "utf8"));

/** The data of the first event of `kind` that the server sends. */
async function event(kind: string, has: (data: unknown) => boolean): Promise<unknown> {
  const stop = new AbortController();
  const answer = await fetch(`${address}api/events`, { signal: stop.signal });
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read()) {
    text += part.value;
    const whole = text.slice(0, text.lastIndexOf("\n\n") + 1);
    for (const [, data] of whole.matchAll(new RegExp(`^event: ?${kind}\\ndata: ?(.*)$`, "gm"))) {
      const found: unknown = JSON.parse(data ?? "");
      if (!has(found)) continue;
      stop.abort();
      return found;
    }
  }
  throw new Error(`no event ${kind}`);
}

const json = async (path: string): Promise<unknown> => (await fetch(`${address}${path}`)).json();

test("the server answers what its page reads", async () => {
  const from = "shared/types";
  const overlay = await fetch(`${address}overlay?run=one&run=compared/cubic-seed-1`);
  const run = ["run", "lte-demo", "--set", "duration=50000 s", "--out", join(folder, "runs/long")];
  const long = spawn(command, run, { cwd: folder, stdio: "ignore" });
  let live: unknown;
  try {
    live = await event("live", (data) => (data as { curves: unknown[] }[]).some((job) => job.curves.length > 0));
  } finally {
    // Interrupted, it takes its file away.
    long.kill("SIGINT");
  }
  const samples: Sample[] = [
    { name: "api/shelf", type: "Shelf", from, data: await json("api/shelf") },
    { name: "api/arenas", type: "Arenas", from, data: await json("api/arenas") },
    { name: "api/differences", type: "Differences", from, data: await json("api/differences?run=compared/cubic-seed-1") },
    { name: "live", type: "Live[]", from, data: live },
    { name: "an overlay", type: "RunPage", from: "reports/data", data: embedded(await overlay.text()) },
  ];
  expect(Object.keys(samples[2]?.data as object)).not.toEqual([]);
  expect(wrongShapes(samples)).toEqual([]);
});

test("pages embed what their scripts read", () => {
  const samples: Sample[] = [
    { name: "a run", type: "RunPage", from: "reports/data", data: page("runs/one/report.html") },
    { name: "a comparison", type: "RunPage", from: "reports/data", data: page("runs/compared/report.html") },
    { name: "the arena", type: "ArenaPage", from: "reports/data", data: page("runs/arena/index.html") },
    { name: "an arena of drawn cells", type: "ArenaPage", from: "reports/data", data: page("runs/drawn/index.html") },
    { name: "a paper", type: "PaperPage", from: "reports/data", data: page("all/vaqm/index.html") },
    { name: "validation", type: "Palette", from: "reports/data", data: page("all/validation/index.html") },
  ];
  expect(wrongShapes(samples)).toEqual([]);
});

test("a type that differs from the data is found", () => {
  const data = { path: "a", kind: "b", title: "c", share: null, elapsed_s: 1, curves: [{ name: "d", unit: "", x: [1], y: [2] }] };
  const wrong = (other: object, part = false) =>
    wrongShapes([{ name: "live", type: "Live", from: "shared/types", data: { ...data, ...other }, part }]);
  expect(wrong({})).toEqual([]);
  expect(wrong({ elapsed_s: undefined })[0]).toContain("'elapsed_s' is missing");
  expect(wrong({ title: null })[0]).toContain("'null' is not assignable to type 'string'");
  expect(wrong({ fresh: 1 })[0]).toMatch(/'"fresh"' does not exist in type 'Live'/);
  expect(wrong({ fresh: 1 }, true)).toEqual([]);
});
