/**
 * Each kind of page, at 1280 and 390 pixels, light and dark; and what a page saves.
 *
 * Over the real command: SLACKWATER names the binary (default: the debug build).
 */

import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, type Page, test } from "@playwright/test";
import { looks } from "./looks";

const command = process.env["SLACKWATER"] ?? resolve("../target/debug/slackwater");
let folder: string;
let server: ChildProcess;
let address: string;

const SHORT = `name = "short"
duration = "3 s"
[path]
rtt = "20 ms"
[link]
kind = "rate"
rate = "10 Mbit/s"
queue = { kind = "fifo", limit = "60 packets" }
[[flow]]
controller = "cubic"
`;

test.beforeAll(async () => {
  test.setTimeout(300_000);
  folder = mkdtempSync(join(tmpdir(), "slackwater-looks-"));
  const scenario = join(folder, "short.toml");
  writeFileSync(scenario, SHORT);
  const made = (...words: string[]) => {
    // Status 1: a claim misses, which it may in so short a look.
    try {
      execFileSync(command, words, { cwd: folder, stdio: "ignore" });
    } catch (e) {
      if ((e as { status: number }).status !== 1) throw e;
    }
  };
  made("run", scenario, "--out", "runs/one");
  made("run", "lte-demo", "--set", "duration=3 s", "--out", "runs/lte");
  made("compare", scenario, "--controllers", "cubic,bbr,prague", "--seeds", "2", "--out", "runs/short");
  made("arena", "--quick", "--seeds", "2", "--cells", "lte-steps,rival", "--systems", "xrc,cubic,cubic+vaqm", "--out", "runs/arena");
  made("repro", "vaqm", "--quick", "--seeds", "1", "--max-seeds", "1", "--only", "signal,loads", "-o", "vaqm");
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

const file = (path: string) => `file://${join(folder, path)}`;
const plots = (page: Page) => expect(page.locator(".u-wrap canvas").first()).toBeVisible();

test("a run", async ({ browser }) => {
  test.setTimeout(180_000);
  await looks(browser, file("runs/one/report.html"), plots);
  await looks(browser, file("runs/lte/report.html"), plots);
});

test("a comparison", async ({ browser }) => {
  await looks(browser, file("runs/short/report.html"), plots);
});

test("the arena", async ({ browser }) => {
  await looks(browser, file("runs/arena/index.html"), (page) => expect(page.locator(".heat tbody tr").first()).toBeVisible());
});

test("names of many senders in the arena's picture do not hide each other", async ({ page }) => {
  test.setTimeout(120_000);
  const words = ["arena", "--quick", "--seeds", "1", "--cells", "lte-fading,nr-fading", "--out", "runs/many"];
  execFileSync(command, words, { cwd: folder, stdio: "ignore" });
  await page.goto(file("runs/many/index.html"));
  const names = page.locator("svg .point text.halo");
  await expect(names.nth(20)).toBeVisible();
  const boxes = await names.evaluateAll((all) => all.map((name) => ({ text: name.textContent, box: name.getBoundingClientRect() })));
  const hidden = boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => {
    const width = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
    // A line's box is higher than its letters.
    const height = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
    return width > 1 && height > 4;
  }).map((b) => `${a.text} and ${b.text}`));
  expect(hidden).toEqual([]);
});

test("a paper", async ({ browser }) => {
  test.setTimeout(180_000);
  await looks(browser, file("vaqm/index.html"), plots);
});

/** Verdicts as a study leaves them: one paper with each verdict, five without a claim. The sixth is vAQM, which was run. */
function writeVerdicts(): void {
  const version = execFileSync(command, ["--version"]).toString().trim().split(" ")[1];
  const row = (name: string, verdict: string, more: object = {}) => ({
    figure: "fig5", name, unit: "ms", reference: 10, ours: 14, interval: { low: 13, high: 15 }, tolerance: "at_most", verdict,
    origin: "claim", profile: "paper", claimed: 9, ...more,
  });
  const claims = [
    row("a queue that is longer", "misses", { note: "The channel is slower than the paper's." }),
    row("a queue of no known cause", "misses", { note: "The cause is not known." }),
    row("a second queue that is longer", "misses", { note: "The channel is slower than the paper's." }),
    row("an aim", "misses", { origin: "target", profile: null }),
    row("a queue on both sides of its bound", "cannot_tell", { interval: { low: 8, high: 16 } }),
    row("a queue that holds", "holds", { ours: 8, interval: { low: 7, high: 9 } }),
    row("a queue that cannot be", "not_tested", { reference: null, ours: null, interval: null, note: "128 packets cannot hold it." }),
  ];
  for (const paper of ["xrc", "cecc", "al4s", "tyrus", "ebb", "rfc8867"]) {
    mkdirSync(join(folder, "all", paper), { recursive: true });
    const of = { paper, title: `The paper ${paper}`, version, seeds: [1, 2], claims: paper === "xrc" ? claims : [], relations: [], left_out: 0 };
    writeFileSync(join(folder, "all", paper, "checks.json"), JSON.stringify(of));
  }
}

test("the validation page", async ({ browser }) => {
  test.setTimeout(120_000);
  writeVerdicts();
  cpSync(join(folder, "vaqm"), join(folder, "all", "vaqm"), { recursive: true });
  // Status 1: claims miss.
  expect(spawnSync(command, ["repro", "all", "--saved", "-o", "all"], { cwd: folder }).status).toBe(1);
  await looks(browser, file("all/validation/index.html"), async (page) => {
    const causes = page.locator("#misses tbody");
    const slower = causes.filter({ hasText: "2 misses The channel is slower than the paper's." });
    await expect(slower.locator("tr:not(.cause) th")).toContainText(["a queue that is longer", "a second queue that is longer"]);
    await expect(causes.last()).toContainText("a queue of no known cause");
    await expect(page.locator("#misses")).not.toContainText("an aim");
    await expect(page.locator("#misses")).toContainText("vaqm");
    await expect(page.locator("#open tbody tr")).toContainText(["a queue on both sides of its bound"]);
    // Its script has run.
    await page.locator("#theme").click();
    await expect(page.locator("html")).toHaveAttribute("data-theme", /./);
    await page.locator("#theme").click();
    // The last first: an index counts those that are still folded.
    for (const summary of (await page.locator("main details:not([open]) > summary").all()).reverse()) await summary.click();
  });
});

test("folded verdicts are open on paper, and folded again after it", async ({ page }) => {
  await page.goto(file("vaqm/index.html"));
  const rows = page.locator("details.rows");
  const open = await page.locator("details.rows[open]").count();
  expect(open).toBeLessThan(await rows.count());
  await page.evaluate("window.dispatchEvent(new Event('beforeprint'))");
  await expect(page.locator("details.rows[open]")).toHaveCount(await rows.count());
  await page.evaluate("window.dispatchEvent(new Event('afterprint'))");
  await expect(page.locator("details.rows[open]")).toHaveCount(open);
});

test("results, and what runs", async ({ browser }) => {
  const at = join(folder, "runs/training");
  mkdirSync(at, { recursive: true });
  const curves = [{ name: "reward", unit: "", x: [1, 2, 3], y: [0.1, 0.4, 0.5] }];
  writeFileSync(join(at, "running.json"), JSON.stringify({ kind: "training", title: "a policy", share: 0.25, elapsed_s: 10, curves }));
  await looks(browser, address, async (page) => {
    await expect(page.locator("#count")).toContainText("runs");
    await expect(page.locator("#live canvas")).toBeVisible();
  });
  rmSync(at, { recursive: true });
});

/** The page of a training, of the module alone: the package needs a build, and a policy takes minutes. */
const TRAINING = `
import importlib.util
spec = importlib.util.spec_from_file_location("report", "../python/slackwater/train/report.py")
report = importlib.util.module_from_spec(spec)
spec.loader.exec_module(report)
def seed(n, points):
    curve = [{"steps": 100 * k, "reward": 0.1 * k * n, "entropy": 1 - 0.1 * k} for k in range(points)]
    return {"seed": n, "score": 0.5 * n, "over rule2": 0.1, "curve": curve}
command = "slackwater train tyrus --seeds 6 --out a/folder/whose/name/is/longer/than/a/phone/is/wide"
print(report.page("Training of tyrus", command, [seed(n, 5) for n in range(1, 6)] + [seed(6, 1)]))
`;

test("a training", async ({ browser }) => {
  writeFileSync(join(folder, "training.html"), execFileSync("python3", ["-c", TRAINING]));
  // A seed of one generation is a point in each of two pictures.
  await looks(browser, file("training.html"), (page) => expect(page.locator("svg circle")).toHaveCount(2));
});

test("an overlay", async ({ browser }) => {
  await looks(browser, `${address}overlay?run=short/cubic-seed-1&run=short/bbr-seed-1`, plots);
});

/** Presses a button of the figure that has `title`, and reads the file that the browser saves. */
async function saved(page: Page, button: string): Promise<Buffer> {
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: button, exact: true }).first().click()]);
  return readFileSync(await download.path());
}

test("a report saves its figures as SVG and PNG", async ({ page }) => {
  await page.goto(file("runs/short/report.html"));
  await plots(page);
  const title = (await page.locator("figure:has(.u-wrap) h3").first().textContent()) ?? "";
  const scatter = (await page.locator("figure:not(:has(.u-wrap)) h3").first().textContent()) ?? "";
  for (const name of [title, scatter]) {
    const svg = (await saved(page, `Download ${name} as SVG`)).toString();
    // A picture by itself: of no style sheet, no variable and no other file.
    expect(svg).not.toMatch(/var\(|class=|light-dark|NaN|undefined|href/);
    const read = await page.evaluate((text) => {
      const tree = new DOMParser().parseFromString(text, "image/svg+xml");
      const shapes = (kind: string) => tree.querySelectorAll(kind).length;
      const words = [...tree.querySelectorAll("text")].map((t) => t.textContent);
      return { wrong: shapes("parsererror"), lines: shapes("path") + shapes("line"), words, width: tree.documentElement.getAttribute("width") };
    }, svg);
    expect(read.wrong).toBe(0);
    expect(read.lines).toBeGreaterThan(5);
    expect(read.words).toContain(name);
    expect(read.words).toContain("cubic");
    // Twice as many pixels; a PNG has its width at octet 16.
    const png = await saved(page, `Download ${name} as PNG`);
    expect(png.subarray(1, 4).toString()).toBe("PNG");
    expect(png.readUInt32BE(16)).toBe(Math.round(2 * Number(read.width)));
  }
});

test("drawing a plot adds no point to its numbers", async ({ page }) => {
  await page.goto(file("runs/lte/report.html"));
  await plots(page);
  // The curve ends before others, and is drawn up to their end.
  const rows = (await saved(page, "Download Round-trip time as CSV")).toString().trim().split("\r\n");
  expect(rows.length).toBeGreaterThan(10);
  expect(rows.at(-1)).toMatch(/,[\d.]+,[\d.]+$/);
});

test("an SVG has the curves that the plot shows", async ({ page }) => {
  await page.goto(file("runs/one/report.html"));
  await plots(page);
  const title = "Round-trip time";
  const figure = page.locator("figure", { has: page.getByRole("heading", { name: title, exact: true }) });
  // How long the lines in the colour of the first curve are that lie inside of the plot.
  const drawn = async () => {
    const svg = (await saved(page, `Download ${title} as SVG`)).toString();
    return await page.evaluate((text) => {
      const host = document.createElement("div");
      host.innerHTML = text;
      document.body.append(host);
      const lines = [...host.querySelectorAll<SVGPathElement>("g path")].filter((path) => path.style.stroke === "rgb(0, 83, 155)");
      const length = lines.reduce((sum, path) => sum + path.getTotalLength(), 0);
      host.remove();
      return length;
    }, svg);
  };
  const width = (await figure.locator(".plot").boundingBox())?.width ?? NaN;
  expect(await drawn()).toBeGreaterThan(width / 2);
  await figure.locator(".key").first().click();
  expect(await drawn()).toBe(0);
});

test("on paper plots are lines in light colours, and one figure may stand alone", async ({ page }) => {
  await page.emulateMedia({ colorScheme: "dark" });
  await page.goto(file("runs/one/report.html"));
  await plots(page);
  const figures = await page.locator("figure").count();
  // The browser's dialog would wait for a hand.
  await page.evaluate("window.print = () => window.dispatchEvent(new Event('beforeprint'))");
  await page.locator("figure").nth(1).getByRole("button", { name: /^Print/ }).click();
  await page.emulateMedia({ media: "print" });
  await expect(page.locator("figure:visible")).toHaveCount(1);
  await expect(page.locator("figure:visible .on-paper > svg")).toBeVisible();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "light");
  await page.evaluate("window.dispatchEvent(new Event('afterprint'))");
  await page.emulateMedia({ media: "screen" });
  await expect(page.locator("figure:visible")).toHaveCount(figures);
  await expect(page.locator(".on-paper")).toHaveCount(0);
  await expect(page.locator("html")).not.toHaveAttribute("data-theme", /./);
});
