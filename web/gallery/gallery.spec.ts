/**
 * The pictures of docs/gallery.md: runs its commands as they stand there, opens the pages that they leave, and takes the SVG that a figure's button saves.
 *
 * SLACKWATER names the binary (default: the debug build). ONLY=radio draws the figures whose file has this in its name.
 */

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { expect, test } from "@playwright/test";

const page = resolve("../docs/gallery.md");
const folder = resolve("../docs/img/gallery");
const binary = resolve(process.env["SLACKWATER"] ?? "../target/debug/slackwater");

/** Most bytes of all pictures together. */
const MOST = 2_500_000;

/** A figure of the gallery, as the page names it. */
type Entry = {
  /** The picture's file. */
  picture: string;
  /** Lines of its block of commands. */
  commands: string;
  /** The page that they leave. */
  report: string;
  /** The figure's title there. */
  title: string;
};

/** The entries of the page, one below each heading with a number. */
function entries(): Entry[] {
  const parts = readFileSync(page, "utf8").split(/^### (?=\d)/m).slice(1);
  return parts.map((part) => {
    const find = (what: RegExp) => {
      const found = what.exec(part);
      if (found?.[1] === undefined) throw new Error(`docs/gallery.md, ${part.split("\n")[0]}: found no ${what}`);
      return found;
    };
    const [, report = "", title = ""] = find(/^`([^`]+\.html)`: "([^"]+)"/m);
    return {
      picture: basename(find(/^!\[[^\]]+\]\(img\/gallery\/([^)]+\.svg)\)/m)[1] ?? ""),
      commands: (find(/^```sh\n([\s\S]*?)^```/m)[1] ?? "").trim(),
      report,
      title,
    };
  });
}

test("every figure is drawn by its command", async ({ browser }) => {
  const all = entries();
  expect(all).toHaveLength(20);
  expect(new Set(all.map((e) => e.picture)).size).toBe(20);
  const work = mkdtempSync(join(tmpdir(), "slackwater-gallery-"));
  mkdirSync(join(work, "bin"));
  symlinkSync(binary, join(work, "bin/slackwater"));
  mkdirSync(folder, { recursive: true });

  const ran = new Set<string>();
  for (const { picture, commands, report, title } of all) {
    if (!picture.includes(process.env["ONLY"] ?? "")) continue;
    if (!ran.has(commands)) {
      const start = Date.now();
      const { status } = spawnSync("sh", ["-ec", commands], {
        cwd: work,
        env: { ...process.env, PATH: `${join(work, "bin")}:${process.env["PATH"]}` },
        stdio: ["ignore", "ignore", "inherit"],
      });
      // A preview of a paper ends with 1 where a claim misses (docs/repro.md).
      expect(status === 0 || (status === 1 && commands.startsWith("slackwater repro")), `${commands}: status ${status}`).toBe(true);
      console.log(`${((Date.now() - start) / 1000).toFixed(1)} s: ${commands}`);
      ran.add(commands);
    }
    const tab = await browser.newPage({ viewport: { width: 860, height: 1000 }, colorScheme: "light" });
    await tab.goto(`file://${join(work, report)}`);
    const button = tab.getByRole("button", { name: `Download ${title} as SVG`, exact: true });
    const saved = tab.waitForEvent("download");
    await button.first().click();
    await (await saved).saveAs(join(folder, picture));
    await tab.close();
  }
  rmSync(work, { recursive: true });

  if (process.env["ONLY"] !== undefined) return;
  const files = readdirSync(folder).sort();
  expect(files).toEqual(all.map((e) => e.picture).sort());
  const size = files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
  console.log(`${files.length} pictures, ${size} bytes`);
  expect(size).toBeLessThan(MOST);
});
