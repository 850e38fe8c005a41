/** Chromium's controllers and ours in one emulated cell: that `benches/beside_chromium.py` works, and that what is counted agrees. */

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "@playwright/test";

const command = process.env["SLACKWATER"] ?? resolve("../target/debug/slackwater");

/** What one run of the script counted; the script's head says what each is of. */
interface Run {
  pair: [string, string];
  flows: { mbps: number; marks: number; delivered: number; received: Record<string, number> }[];
  sender: Record<string, number>;
  chromium: Record<string, number>;
}

test("GCC and SCReAMv2 of Chromium send beside ours in one cell, and counts agree", () => {
  test.skip(process.getuid?.() !== 0, "the emulator's server side is this machine, which takes root");
  test.skip(!["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip"].some(existsSync), "no ip");
  test.setTimeout(400_000);
  // A busy machine makes runs void, which says nothing against their counts. Speed is not judged.
  const words = ["../benches/beside_chromium.py", "--binary", command, "--seconds", "5", "--check", "--json", "--void-above", "100"];
  const done = spawnSync("python3", words, { encoding: "utf8", timeout: 390_000 });
  expect(done.status, done.stderr).toBe(0);
  const runs = JSON.parse(done.stdout) as Run[];
  expect(runs.map((run) => run.pair[1])).toEqual(["gcc", "scream"]);
  for (const run of runs) {
    const [ours, theirs] = run.flows as [Run["flows"][0], Run["flows"][0]];
    expect(theirs.received["packets"]).toBeGreaterThan(30);
    expect(ours.received["packets"]).toBeGreaterThan(30);
    // Its SCReAM sends ECT(1), its GCC Not-ECT.
    expect(theirs.received["l4s"] ?? 0).toBe(run.pair[1] === "scream" ? theirs.received["packets"] : 0);
  }
  console.log(done.stdout);
});
