/** WebRTC between the command and Chromium, over the loopback: SLACKWATER names the binary (default: the debug build). */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "@playwright/test";

const command = process.env["SLACKWATER"] ?? resolve("../target/debug/slackwater");

/** Starts an end that waits for an offer; its address, and the lines of JSON that it prints. */
async function waiting(...more: string[]): Promise<[ChildProcess, string, Record<string, number>[]]> {
  const child = spawn(command, ["rtc", ...more, "--listen", "127.0.0.1:0", "--json"]);
  const lines: Record<string, number>[] = [];
  // A pipe hands on pieces of lines.
  createInterface(child.stdout).on("line", (line) => {
    if (line.startsWith("{")) lines.push(JSON.parse(line) as Record<string, number>);
  });
  const address = await new Promise<string>((found, failed) => {
    createInterface(child.stderr).on("line", (line) => {
      const address = /http:\/\/[^/]+\//.exec(line)?.[0];
      if (address !== undefined) found(address);
    });
    child.once("exit", (code) => failed(new Error(`slackwater rtc ended with ${code}`)));
  });
  return [child, address, lines];
}

const last = (lines: Record<string, number>[], key: string): number => lines.at(-1)?.[key] ?? 0;

test("Chromium receives from us, decodes, and reports", async ({ page }) => {
  const [child, address, lines] = await waiting("send", "--cc", "cl4s");
  try {
    await page.goto(address);
    const seen = (key: string): Promise<number> => page.evaluate((k) => (window as any).seen?.[k] ?? 0, key);
    await expect.poll(() => seen("framesDecoded"), { timeout: 30_000 }).toBeGreaterThan(30);
    await expect.poll(() => last(lines, "reports")).toBeGreaterThan(30);
    expect(last(lines, "malformed")).toBe(0);
    expect(last(lines, "target_mbps")).toBeGreaterThan(1);
    console.log(JSON.stringify(await page.evaluate(() => (window as any).seen)), JSON.stringify(lines.at(-1)));
  } finally {
    child.kill();
  }
});

test("Chromium sends to us, by the reports that we make", async ({ page }) => {
  const [child, address, lines] = await waiting("receive");
  try {
    await page.goto(address);
    await expect.poll(() => last(lines, "frames"), { timeout: 30_000 }).toBeGreaterThan(30);
    const packets = await page.evaluate(() => (window as any).seen?.["packetsSent"] ?? 0);
    expect(packets).toBeGreaterThan(30);
    console.log(JSON.stringify(await page.evaluate(() => (window as any).seen)), JSON.stringify(lines.at(-1)));
  } finally {
    child.kill();
  }
});

test("what Chromium misses we send again", async ({ page }) => {
  const [child, address, lines] = await waiting("send", "--cc", "cl4s", "--lose", "3");
  try {
    await page.goto(address);
    const seen = (key: string): Promise<number> => page.evaluate((k) => (window as any).seen?.[k] ?? 0, key);
    await expect.poll(() => seen("retransmittedPacketsReceived"), { timeout: 30_000 }).toBeGreaterThan(5);
    await expect.poll(() => last(lines, "again")).toBeGreaterThan(5);
    expect(await seen("nackCount")).toBeGreaterThan(0);
    // Its reports speak of both streams.
    await expect.poll(() => last(lines, "reports")).toBeGreaterThan(30);
    expect(last(lines, "lost")).toBeGreaterThan(0);
    expect(last(lines, "malformed")).toBe(0);
    console.log(JSON.stringify(await page.evaluate(() => (window as any).seen)), JSON.stringify(lines.at(-1)));
  } finally {
    child.kill();
  }
});

test("what we miss Chromium sends again", async ({ page }) => {
  const [child, address, lines] = await waiting("receive", "--lose", "3");
  try {
    await page.goto(address);
    const seen = (key: string): Promise<number> => page.evaluate((k) => (window as any).seen?.[k] ?? 0, key);
    await expect.poll(() => seen("retransmittedPacketsSent"), { timeout: 30_000 }).toBeGreaterThan(5);
    await expect.poll(() => last(lines, "nacks")).toBeGreaterThan(5);
    // Chromium reports how long it held our reference time, so we know the round trip; "null" while it has not.
    await expect.poll(() => lines.at(-1)?.["rtt_ms"] ?? -1).toBeGreaterThanOrEqual(0);
    console.log(JSON.stringify(await page.evaluate(() => (window as any).seen)), JSON.stringify(lines.at(-1)));
  } finally {
    child.kill();
  }
});

/** Whether the command can encode H.264: without it, it refuses at once; with it, it waits until it is ended. */
function encodes(): boolean {
  const tried = spawnSync(command, ["rtc", "send", "--encoder", "h264", "--listen", "127.0.0.1:0"], { timeout: 10_000 });
  return !tried.stderr.toString().includes("built without H.264");
}

test("Chromium decodes our H.264", async ({ page }) => {
  test.skip(!encodes(), "the command was built without H.264");
  const [child, address, lines] = await waiting("send", "--encoder", "h264", "--most", "3");
  try {
    await page.goto(address);
    const seen = (key: string): Promise<number> => page.evaluate((k) => (window as any).seen?.[k] ?? 0, key);
    await expect.poll(() => seen("framesDecoded"), { timeout: 30_000 }).toBeGreaterThan(60);
    // What the pattern has, and not the synthetic picture.
    expect(await seen("frameWidth")).toBe(640);
    const codecs = await page.evaluate(async () => {
      const reports = [...(await (window as any).peer.getStats()).values()];
      return reports.filter((r) => r.type === "codec").map((r) => `${r.mimeType} ${r.sdpFmtpLine}`);
    });
    expect(codecs.join()).toContain("video/H264");
    expect(codecs.join()).toContain("packetization-mode=1");
    expect(codecs.join()).toContain("profile-level-id=42e01f");
    await expect.poll(() => last(lines, "reports")).toBeGreaterThan(30);
    expect(last(lines, "malformed")).toBe(0);
    console.log(codecs.join(), JSON.stringify(await page.evaluate(() => (window as any).seen)), JSON.stringify(lines.at(-1)));
  } finally {
    child.kill();
  }
});

test("we decode the H.264 that Chromium sends", async ({ page }) => {
  test.skip(!encodes(), "the command was built without H.264");
  const [child, address, lines] = await waiting("receive");
  try {
    await page.goto(`${address}?codec=H264`);
    await expect.poll(() => last(lines, "decoded"), { timeout: 30_000 }).toBeGreaterThan(30);
    // A busy machine may lose a packet, which costs frames until the next key frame.
    expect(last(lines, "undecoded")).toBeLessThan(last(lines, "decoded"));
    console.log(JSON.stringify(await page.evaluate(() => (window as any).seen)), JSON.stringify(lines.at(-1)));
  } finally {
    child.kill();
  }
});
