/** Chromium and our ends in emulated cells that mark, in both directions: what the cell, senders and receivers count agrees. */

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "@playwright/test";

const command = process.env["SLACKWATER"] ?? resolve("../target/debug/slackwater");

/** What one run of the script counted; the script's head says what each is of. */
interface Run {
  pair: [string, string];
  flows: { mbps: number; marks: number; delivered: number; received: Record<string, number> }[];
  sender: Record<string, number>;
  chromium: Record<string, number>;
}

const chromium = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

/** Why this machine cannot run an emulator with a browser; empty where it can. */
function missing(): string {
  if (process.getuid?.() !== 0) return "the emulator's server side is this machine, which takes root";
  if (!["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip"].some(existsSync)) return "no ip";
  return existsSync(chromium) ? "" : "no chromium";
}

/** A cell that cL4S fills within seconds. */
const CELL = `
[cell]
rat = "lte"
bandwidth = "1.4 MHz"
rlc = { buffer = "1 MB", law = { kind = "ramp", low = "5 ms", high = "20 ms" } }

[[ue]]
mobility = { kind = "static", distance = "100 m" }
`;

/** The browser of the UE: it opens the sender's page once that is there, and prints what it counts. */
const BROWSER = `
until grep -q "open http" errors; do sleep 0.1; done
timeout -s INT 15 "$CHROMIUM" --headless=new --no-sandbox --disable-gpu --no-first-run --user-data-dir=profile --enable-logging=stderr \\
  --force-fieldtrials=WebRTC-RFC8888CongestionControlFeedback/Enabled,offer:true/ "http://$SLACKWATER_SERVER:8090/" 2> chromium.log
exit 0`;

test("Chromium behind a cell counts the marks that we read in its reports", () => {
  test.skip(missing() !== "", missing());
  test.setTimeout(120_000);
  const folder = mkdtempSync(join(tmpdir(), "marks-"));
  const read = (name: string): string => readFileSync(join(folder, name), "utf8");
  try {
    writeFileSync(join(folder, "cell.toml"), CELL);
    writeFileSync(join(folder, "errors"), "");
    const send = `exec '${command}' rtc send --json --cc cl4s --most 20 --listen $SLACKWATER_SERVER:8090 > sent 2> errors`;
    const words = ["emulate", "--cell", "cell.toml", "--ues", "1", "--delay", "10 ms", "--quiet", "--no-files", "--as-root"];
    words.push("--json", "live.json", "--void-above", "100", "--server", send, "--", "sh", "-c", BROWSER);
    const env = { ...process.env, CHROMIUM: chromium };
    const done = spawnSync(command, words, { cwd: folder, encoding: "utf8", timeout: 90_000, env });
    expect(done.status, done.stderr + read("errors")).toBe(0);

    const printed = [...read("chromium.log").matchAll(/"slackwater (\{.*\})"/g)].at(-1)?.[1] ?? "{}";
    const seen = JSON.parse(printed) as Record<string, number>;
    const sent = JSON.parse(read("sent").trim().split("\n").at(-1) ?? "{}") as Record<string, number>;
    const { summary } = JSON.parse(read("live.json")) as { summary: { flows: { marks: number }[] } };
    const made = summary.flows.reduce((sum, flow) => sum + flow.marks, 0);
    console.log(JSON.stringify(seen), JSON.stringify(sent), made);

    const marked = seen["packetsReceivedWithCe"] ?? 0;
    expect(marked).toBeGreaterThan(0);
    expect(marked).toBeLessThanOrEqual(made);
    expect(marked + (seen["packetsReceivedWithEct1"] ?? 0)).toBe(seen["packetsReceived"]);
    expect(sent["marked"]).toBeGreaterThan(0);
    expect(sent["marked"]).toBeLessThanOrEqual(made);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("GCC and SCReAMv2 of Chromium send beside ours in one cell, and counts agree", () => {
  test.skip(missing() !== "", missing());
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
