/**
 * The page of sessions over a real user plane function, in a network namespace of their own: SLACKWATER names the binary (default: the
 * debug build). Browser and test speak by a pipe, so the browser may live in that namespace too.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { chromium, expect, test } from "@playwright/test";
import { looks } from "./looks";
import { wrongShapes } from "./shapes";

const command = process.env["SLACKWATER"] ?? resolve("../target/debug/slackwater");
const browser = [process.env["CHROMIUM"], "/usr/bin/chromium", "/usr/bin/google-chrome"].find(
  (path) => path !== undefined && existsSync(path),
);

const CONFIG = `[n3]
address = "127.0.0.1"
[n6]
address = "192.0.2.1"
[[session]]
ue = "10.60.0.1"
teid = 0x11
gnb = "127.0.0.2"
gnb_teid = 0x22
[[session]]
ue = "10.60.0.2"
teid = 0x12
gnb = "127.0.0.2"
gnb_teid = 0x23
`;

/** A base station that reads, and a server that sends the first UE 100 packets of 1,000 octets a second. */
const TRAFFIC = `
import socket, time
gnb = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
gnb.bind(("127.0.0.2", 2152))
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    server.sendto(bytes(1000), ("10.60.0.1", 7000))
    gnb.recv(2000)
    time.sleep(0.01)
`;

/** The first line of `stream` that holds `words`. */
async function says(child: ChildProcess, from: "stdout" | "stderr", words: string): Promise<string> {
  const stream = child[from];
  if (stream === null) throw new Error("no pipe");
  return await new Promise((found, failed) => {
    createInterface(stream).on("line", (line) => line.includes(words) && found(line));
    child.once("exit", (code) => failed(new Error(`ended with ${code} and never said ${words}`)));
  });
}

test("sessions have rates, curves, a filter and an order", async () => {
  test.setTimeout(120_000);
  test.skip(process.getuid?.() !== 0, "no root: a function needs a network namespace and a device");
  test.skip(!existsSync("/dev/net/tun"), "no /dev/net/tun");
  test.skip(browser === undefined, "no chromium");
  const folder = mkdtempSync(join(tmpdir(), "slackwater-upf-"));
  const children: ChildProcess[] = [];
  const started = (child: ChildProcess): ChildProcess => {
    children.push(child);
    return child;
  };
  try {
    const config = join(folder, "upf.toml");
    writeFileSync(config, CONFIG);
    const words = `ip link set lo up && exec "${command}" upf --config "${config}"`;
    const upf = started(spawn("unshare", ["-n", "sh", "-c", words]));
    await says(upf, "stderr", "listening");
    const inside = [`--net=/proc/${upf.pid}/ns/net`];
    started(spawn("nsenter", [...inside, "python3", "-c", TRAFFIC], { stdio: "ignore" }));
    const serve = started(
      spawn("nsenter", [...inside, command, "serve", folder, "--port", "0", "--upf", "http://127.0.0.1:9805"]),
    );
    const address = (await says(serve, "stdout", "/upf")).trim();

    const launcher = join(folder, "browser");
    writeFileSync(launcher, `#!/bin/sh\nexec nsenter ${inside[0]} "${browser}" "$@"\n`);
    chmodSync(launcher, 0o700);
    const within = await chromium.launch({ executablePath: launcher, args: ["--no-sandbox", "--disable-gpu"] });
    try {
      const page = await within.newPage();
      const wrong: string[] = [];
      page.on("pageerror", (e) => wrong.push(String(e)));
      await page.goto(address);
      await expect(page.locator("#state")).toContainText("2 sessions");

      // Its page reads a part of what the function reports.
      const answer: unknown = await page.evaluate("fetch('/api/upf').then((r) => r.json())");
      expect(wrongShapes([{ name: "api/upf", type: "Answer", from: "upf/types", data: answer, part: true }])).toEqual([]);

      // 100 packets of 1,028 octets of IP: 0.82 Mbit/s for the first UE, nothing for the second.
      const down = (ue: string) =>
        page.locator("#rows tr", { hasText: ue }).locator("td").nth(1).textContent().then(Number);
      await expect.poll(() => down("10.60.0.1"), { timeout: 30_000 }).toBeGreaterThan(0.1);
      // A page that stood still counts what came meanwhile in its next row.
      await expect.poll(() => down("10.60.0.1"), { timeout: 30_000 }).toBeLessThan(2);
      expect(await down("10.60.0.2")).toBe(0);

      await page.locator("#rows tr", { hasText: "10.60.0.1" }).click();
      await expect(page.locator("#curves h2")).toHaveText("10.60.0.1");
      const curve = page.locator("#curves figure").first().locator("polyline.c0");
      const points = async () => ((await curve.getAttribute("points")) ?? "").split(" ").length;
      const before = await points();
      await expect.poll(points, { timeout: 30_000 }).toBeGreaterThan(before);

      // The busiest first; by the UE's address, the second first, then the first.
      const first = page.locator("#rows tr").first();
      await expect(first).toContainText("10.60.0.1");
      const order = page.locator("#head button", { hasText: "UE" });
      await order.click();
      await expect(first).toContainText("10.60.0.2");
      await order.click();
      await expect(first).toContainText("10.60.0.1");
      await page.locator("#filter").fill("0.2");
      await expect(page.locator("#shown")).toHaveText("1 of 2 sessions");
      expect(wrong).toEqual([]);
      await looks(within, address, (other) => expect(other.locator("#state")).toContainText("2 sessions"));

      upf.kill();
      await expect(page.locator("#state")).toContainText("No news", { timeout: 30_000 });
    } finally {
      await within.close();
    }
  } finally {
    for (const child of children) child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
});
