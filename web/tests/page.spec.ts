/**
 * The page in a real browser, over the real command: SLACKWATER names the binary (default: the debug build).
 *
 * SHOTS=FOLDER also leaves screenshots there.
 */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, type Page, test } from "@playwright/test";

const command = process.env["SLACKWATER"] ?? resolve("../target/debug/slackwater");
const shots = process.env["SHOTS"];
let folder: string;
let server: ChildProcess;
let address: string;

/** Starts `slackwater serve` on a free port and reads its address. */
async function serve(...more: string[]): Promise<[ChildProcess, string]> {
  const child = spawn(command, ["serve", join(folder, "runs"), "--port", "0", ...more]);
  const line = await new Promise<string>((found, failed) => {
    child.stdout.once("data", (data: Buffer) => found(data.toString()));
    child.once("exit", (code) => failed(new Error(`slackwater serve ended with ${code}`)));
  });
  return [child, line.trim()];
}

async function shot(page: Page, name: string): Promise<void> {
  if (shots !== undefined) {
    mkdirSync(shots, { recursive: true });
    // Pictures for the docs name no folder of this machine.
    await page.evaluate(() => {
      const root = document.getElementById("root");
      if (root !== null) root.textContent = "runs";
    });
    await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
  }
}

test.beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "slackwater-page-"));
  const scenario = join(folder, "short.toml");
  writeFileSync(
    scenario,
    `name = "short"
duration = "3 s"
[path]
rtt = "20 ms"
[link]
kind = "rate"
rate = "10 Mbit/s"
queue = { kind = "fifo", limit = "60 packets" }
[[flow]]
controller = "cubic"
`,
  );
  execFileSync(
    command,
    ["compare", scenario, "--controllers", "cubic,bbr", "--seeds", "2", "--out", join(folder, "runs/short")],
    { cwd: folder, stdio: "ignore" },
  );
  const edge = join(folder, "edge.toml");
  writeFileSync(
    edge,
    `name = "edge"
duration = "5 s"
[path]
rtt = "20 ms"
[cell]
rat = "lte"
rlc = { buffer = "500 kB" }
[upf]
vaqm.mode = "window"
[[ue]]
channel = { kind = "mcs", mcs = 12 }
[[flow]]
controller = "cubic"
`,
  );
  execFileSync(command, ["run", edge, "--out", join(folder, "runs/edge")], { cwd: folder, stdio: "ignore" });
  // One name and one folder, another sender.
  const other = join(folder, "other.toml");
  writeFileSync(other, readFileSync(edge, "utf8").replace('"cubic"', '"bbr"'));
  for (const [text, run] of [[edge, "one"], [other, "two"]] as const) {
    execFileSync(command, ["run", text, "--out", join(folder, "runs/mixed", run)], { cwd: folder, stdio: "ignore" });
  }
  const arena = ["arena", "--quick", "--seeds", "2", "--cells", "lte-steps,rival", "--systems", "xrc,cubic,cubic+vaqm"];
  execFileSync(command, [...arena, "--out", join(folder, "runs/arena")], { cwd: folder, stdio: "ignore" });
  [server, address] = await serve();
});

test.afterAll(() => {
  server?.kill();
  rmSync(folder, { recursive: true, force: true });
});

/** A page whose console and network stay silent. */
async function open(page: Page): Promise<string[]> {
  const wrong: string[] = [];
  page.on("console", (m) => m.type() === "error" && wrong.push(m.text()));
  page.on("pageerror", (e) => wrong.push(String(e)));
  page.on("request", (r) => {
    if (!r.url().startsWith(address) && !r.url().startsWith("data:")) wrong.push(`asked ${r.url()}`);
  });
  await page.goto(address);
  await expect(page.locator("#count")).toContainText("runs");
  return wrong;
}

test("lists, filters, sorts and averages runs", async ({ page }) => {
  const wrong = await open(page);
  const rows = page.locator("#table tbody tr");
  await expect(rows).toHaveCount(7);
  await shot(page, "runs-light");
  await page.fill("#filter", "short bbr seed=1");
  await expect(rows).toHaveCount(1);
  await expect(rows.first()).toContainText("bbr-seed-1");
  await page.fill("#filter", "goodput>1000");
  await expect(rows).toHaveCount(0);
  await page.fill("#filter", "");
  await page.locator("#table").getByRole("button", { name: /^goodput Mbit/ }).click();
  await expect(page.locator("#table th[aria-sort=descending]")).toContainText("goodput");
  const values = await page.locator("#table tbody tr").evaluateAll((trs) => trs.map((tr) => Number(tr.children[3]?.textContent)));
  expect(values).toEqual([...values].sort((a, b) => b - a));
  await page.fill("#filter", "short");
  await page.check("#average");
  await expect(rows).toHaveCount(2);
  await expect(rows.first()).toContainText("2 seeds");
  await expect(rows.first()).toContainText("±");
  await page.fill("#filter", "mixed");
  await expect(rows).toHaveCount(2);
  expect(wrong).toEqual([]);
});

test("shows differences seed by seed from a row", async ({ page }) => {
  const wrong = await open(page);
  const rows = page.locator("#table tbody tr");
  await page.fill("#filter", "short");
  await expect(page.locator("#base-label")).toBeHidden();
  await page.check("#average");
  await page.locator("#base").selectOption({ label: "short/cubic (cubic)" });
  const other = rows.filter({ hasText: "bbr" });
  const own = rows.filter({ hasText: "cubic" });
  await expect(other.locator(".less").first()).toBeVisible();
  await expect(own.locator(".less")).toHaveCount(0);

  // Of the same numbers that the table has.
  const runs = JSON.parse(readFileSync(join(folder, "runs/short/compare.json"), "utf8")) as {
    rows: { metrics: { metric: string; mean: number }[] }[];
  };
  const mean = (row: number) => runs.rows[row]?.metrics.find((m) => m.metric === "goodput_total")?.mean ?? NaN;
  await page.locator("#set").selectOption("All");
  const at = await page.locator("#table thead th").evaluateAll((all) => all.findIndex((th) => th.textContent?.startsWith("total goodput")));
  const text = (await other.locator("td, th").nth(at).locator(".less").textContent()) ?? "";
  expect(Number.parseFloat(text)).toBeCloseTo(mean(1) - mean(0), 2);
  await page.locator("#base").selectOption({ label: "no row" });
  await expect(page.locator(".less")).toHaveCount(0);
  expect(wrong).toEqual([]);
});

test("a report fits its paper", async ({ page }) => {
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.goto(`${address}files/short/report.html`);
  await expect(page.locator(".u-wrap canvas").first()).toBeVisible();
  // A browser that prints sends these; A4 without its margins has 700 pixels at 96 an inch.
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print" });
  const plots = await page.locator(".u-wrap").count();
  const rights = await page.evaluate(() => {
    document.body.style.width = "700px";
    return [...document.querySelectorAll(".on-paper > svg, table.summary")].map((c) => c.getBoundingClientRect().right);
  });
  expect(rights.length).toBeGreaterThan(plots);
  expect(Math.max(...rights)).toBeLessThanOrEqual(700);
});

test("overlays two runs on one time axis", async ({ page }) => {
  const wrong = await open(page);
  await expect(page.locator("#overlay")).toBeDisabled();
  await page.getByLabel("Choose short/cubic-seed-1").check();
  await page.getByLabel("Choose short/bbr-seed-1").check();
  await page.click("#overlay");
  await expect(page).toHaveURL(/overlay\?run=/);
  await expect(page.locator("h1")).toContainText("bbr-seed-1");
  await expect(page.locator(".u-wrap").first()).toBeVisible();
  expect(await page.locator(".u-wrap").count()).toBeGreaterThan(2);
  await shot(page, "overlay");
  expect(wrong).toEqual([]);
});

test("shows the states of an edge function under the curves of an overlay", async ({ page }) => {
  const wrong = await open(page);
  await page.getByLabel("Choose edge").check();
  await page.getByLabel("Choose short/cubic-seed-1").check();
  await page.click("#overlay");
  await expect(page.locator("h1")).toContainText("edge");
  await expect(page.locator("#plots")).toContainText("UE 0, vAQM");
  await expect(page.locator("#plots")).toContainText("shape");
  await shot(page, "overlay-edge");
  expect(wrong).toEqual([]);
});

test("filters and sorts an arena beside the runs", async ({ page }) => {
  const wrong = await open(page);
  const rows = page.locator("#arena-table tbody tr");
  await expect(rows).toHaveCount(6);
  await page.fill("#arena-filter", "cell=rival");
  await expect(rows).toHaveCount(3);
  await page.locator("#arena-table").getByRole("button", { name: /^p95 queue delay/ }).click();
  await page.locator("#arena-table").getByRole("button", { name: /^p95 queue delay/ }).click();
  await expect(page.locator("#arena-table th[aria-sort=ascending]")).toContainText("p95 queue delay");
  await expect(rows.last()).not.toContainText("vAQM");
  await expect(rows.first()).toContainText("±");
  await page.getByRole("button", { name: "The run of CUBIC + vAQM in rival" }).click();
  await expect(page.locator("#arena-run")).toContainText("slackwater run arena/rival --set");
  await expect(page.locator("#arena-run")).toContainText("--set 'upf.vaqm.mode=auto'");
  await shot(page, "arena-table");
  await page.click("#arena-page");
  await expect(page.locator("h1")).toContainText("The arena");
  expect(wrong).toEqual([]);
});

test("the arena's page filters, shades and leads to its runs", async ({ page }) => {
  const wrong: string[] = [];
  page.on("console", (m) => m.type() === "error" && wrong.push(m.text()));
  page.on("pageerror", (e) => wrong.push(String(e)));
  await page.goto(`file://${join(folder, "runs/arena/index.html")}`);
  await expect(page.locator(".heat tbody tr")).not.toHaveCount(0);
  await page.selectOption("#heat-measure", "delay_p95");
  const field = page.locator(".heat").getByRole("button", { name: /^XRC in lte-steps/ });
  await field.click();
  await expect(page.locator("#lead")).toContainText("slackwater run arena/lte-steps");
  await expect(page.locator("#lead")).toContainText("flow[0].controller=xrc");
  await page.fill("#filter", "edge=vaqm");
  await expect(page.locator(".all tbody tr")).toHaveCount(2);
  await page.fill("#filter", "goodput>100000");
  await expect(page.locator(".all tbody tr")).toHaveCount(0);
  await page.fill("#filter", "");
  await expect(page.locator("[data-front] svg .front").first()).toBeAttached();
  await page.emulateMedia({ colorScheme: "dark" });
  await shot(page, "arena-dark");
  expect(wrong).toEqual([]);
});

test("works by keyboard alone", async ({ page }) => {
  await open(page);
  await page.keyboard.press("/");
  await expect(page.locator("#filter")).toBeFocused();
  await page.keyboard.type("cubic-seed-2");
  await expect(page.locator("#table tbody tr")).toHaveCount(1);
  await page.locator("#table tbody input").focus();
  await page.keyboard.press("Space");
  await page.locator("#overlay").focus();
  await page.keyboard.press("Enter");
  await expect(page.locator("h1")).toContainText("cubic-seed-2");
});

test("shows what runs, and new runs without being asked", async ({ page }) => {
  const wrong = await open(page);
  await expect(page.locator("#now")).toBeHidden();
  const at = join(folder, "runs/training");
  mkdirSync(at, { recursive: true });
  const live = { kind: "training", title: "a policy", share: 0.25, elapsed_s: 10, curves: [] as unknown[] };
  writeFileSync(join(at, "running.json"), JSON.stringify(live));
  await expect(page.locator("#live")).toContainText("25 % after 10 s, about 30 s left");
  live.curves = [{ name: "reward", unit: "", x: [1, 2, 3], y: [0.1, 0.4, 0.5] }];
  writeFileSync(join(at, "running.json"), JSON.stringify(live));
  await expect(page.getByRole("img", { name: "reward: 0.5000" })).toBeVisible();
  await page.emulateMedia({ colorScheme: "dark" });
  await shot(page, "runs-dark");
  rmSync(at, { recursive: true });
  await expect(page.locator("#now")).toBeHidden();
  execFileSync(command, ["run", join(folder, "short.toml"), "--seed", "9", "--out", join(folder, "runs/fresh")], {
    cwd: folder,
    stdio: "ignore",
  });
  await expect(page.locator("#table tbody tr")).toHaveCount(8);
  expect(wrong).toEqual([]);
});

test("draws the curves of a run while it goes on", async ({ page }) => {
  const wrong = await open(page);
  const long = ["run", "lte-demo", "--set", "duration=50000 s", "--out", join(folder, "runs/long")];
  const run = spawn(command, long, { cwd: folder, stdio: "ignore" });
  try {
    await expect(page.locator("#live")).toContainText("simulation: lte-demo");
    await expect(page.getByRole("img", { name: /^cubic: throughput: \d/ })).toBeVisible({ timeout: 15_000 });
    await expect(page.getByRole("img", { name: /^cubic: mean queue delay: \d/ })).toBeVisible();
    await shot(page, "live");
  } finally {
    // Interrupted, it takes its file away.
    run.kill("SIGINT");
  }
  await expect(page.locator("#now")).toBeHidden({ timeout: 15_000 });
  expect(wrong).toEqual([]);
});

test("asks for the token and keeps it", async ({ page }) => {
  const [child, secret] = await serve("--token", "abcdefghijklmnop");
  try {
    const bare = secret.replace(/\?.*/, "");
    expect((await page.request.get(bare)).status()).toBe(401);
    await page.goto(secret);
    await expect(page.locator("#count")).toContainText("runs");
    expect((await page.request.get(`${bare}api/shelf`)).status()).toBe(200);
  } finally {
    child.kill();
  }
});
