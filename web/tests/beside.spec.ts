/** Chromium and our ends in emulated cells that mark, in both directions: what the cell, senders and receivers count agrees. */

import { spawn, spawnSync } from "node:child_process";
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

/** A cell that marks some packets of any frame, for a busy machine may hold the rate of cL4S far below the cell's. */
const CELL = `
[cell]
rat = "lte"
bandwidth = "1.4 MHz"
rlc = { buffer = "1 MB", law = { kind = "ramp", low = "0 ms", high = "2 ms" } }

[[ue]]
mobility = { kind = "static", distance = "100 m" }
`;

/**
 * The browser of the UE opens the sender's page once that is there, and prints what it counts. It ends when it has counted three times since the
 * sender ended: the first of these may have begun before. How long a busy machine takes to start it does not matter.
 */
const BROWSER = `
until grep -q "open http" errors; do sleep 0.1; done
"$CHROMIUM" --headless=new --no-sandbox --disable-gpu --no-first-run --user-data-dir=profile --enable-logging=stderr \\
  --force-fieldtrials=WebRTC-RFC8888CongestionControlFeedback/Enabled,offer:true/ "http://$SLACKWATER_SERVER:8090/" 2> chromium.log &
browser=$!
counts() { grep -c '"slackwater {' chromium.log; }
until [ -e ended ] || ! kill -0 $browser; do sleep 0.1; done
before=$(counts)
until [ $(counts) -ge $((before + 3)) ] || ! kill -0 $browser; do sleep 0.1; done
kill -INT $browser
wait $browser
exit 0`;

/** What our sender, the path and the browser counted, one behind the other on `path`. */
async function behind(path: string[], folder: string): Promise<{ sent: Record<string, number>; made: number; seen: Record<string, number> }> {
  const read = (name: string): string => readFileSync(join(folder, name), "utf8");
  writeFileSync(join(folder, "cell.toml"), CELL);
  writeFileSync(join(folder, "plain.toml"), CELL.replace(/, law = .* \}/, " }"));
  writeFileSync(join(folder, "errors"), "");
  const send = `'${command}' rtc send --json --cc cl4s --most 20 --seconds 10 --listen $SLACKWATER_SERVER:8090 > sent 2> errors; touch ended; exec sleep 250`;
  const words = ["emulate", ...path, "--delay", "10 ms", "--quiet", "--no-files", "--as-root"];
  words.push("--json", "live.json", "--void-above", "100", "--server", send, "--", "sh", "-c", BROWSER);
  const run = spawn(command, words, { cwd: folder, env: { ...process.env, CHROMIUM: chromium }, stdio: ["ignore", "ignore", "pipe"] });
  let errors = "";
  run.stderr.on("data", (text) => (errors += text));
  const status = await new Promise((done) => run.once("close", done));
  expect(status, errors + read("errors")).toBe(0);

  const printed = [...read("chromium.log").matchAll(/"slackwater (\{.*\})"/g)].at(-1)?.[1] ?? "{}";
  const { summary } = JSON.parse(read("live.json")) as { summary: { flows: { marks: number }[] } };
  return {
    sent: JSON.parse(read("sent").trim().split("\n").at(-1) ?? "{}") as Record<string, number>,
    made: summary.flows.reduce((sum, flow) => sum + flow.marks, 0),
    seen: JSON.parse(printed) as Record<string, number>,
  };
}

test("Paths with and without marks, Chromium and the reports that we read have the same counts", async () => {
  test.skip(missing() !== "", missing());
  test.setTimeout(300_000);
  const paths = [["--cell", "cell.toml", "--ues", "1"], ["--cell", "plain.toml", "--ues", "1"], ["--rate", "3"]];
  const folders = paths.map(() => mkdtempSync(join(tmpdir(), "marks-")));
  try {
    const runs = await Promise.all(paths.map((path, k) => behind(path, folders[k] as string)));
    for (const [k, { sent, made, seen }] of runs.entries()) {
      console.log(paths[k], JSON.stringify(seen), JSON.stringify(sent), made);
      expect(seen["framesDecoded"]).toBeGreaterThan(30);
      expect(made > 0).toBe(k === 0);
      expect(seen["packetsReceivedWithCe"]).toBe(made);
      expect(sent["marked"]).toBe(made);
      expect(made + (seen["packetsReceivedWithEct1"] ?? 0)).toBe(seen["packetsReceived"]);
      // How many packets one report holds depends on how late a busy browser comes.
      expect(sent["reports"]).toBeGreaterThan(0);
    }
  } finally {
    folders.forEach((folder) => rmSync(folder, { recursive: true, force: true }));
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
