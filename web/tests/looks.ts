/** What holds for each page: no scroll sideways, a silent console, and nothing that axe calls serious. */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, expect, type Page } from "@playwright/test";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  id: string;
  impact: string | null;
  nodes: { target: string[]; failureSummary?: string }[];
}

/** Violations of WCAG 2 at levels A and AA that axe calls serious or critical, a line each. */
async function violations(page: Page): Promise<string[]> {
  // By the debugger: the policies of our pages let no other script in.
  await page.evaluate(axe);
  const found = (await page.evaluate(
    "axe.run(document, { resultTypes: ['violations'] }).then((r) => r.violations)",
  )) as Violation[];
  return found
    .filter((v) => v.impact === "serious" || v.impact === "critical")
    .flatMap((v) => v.nodes.slice(0, 4).map((n) => `${v.id}: ${n.target.join(" ")}: ${n.failureSummary ?? ""}`));
}

/** Opens a page at two widths, light and dark, and looks at each. `ready` waits for what scripts add. */
export async function looks(browser: Browser, url: string, ready: (page: Page) => Promise<void>): Promise<void> {
  for (const width of [1280, 390]) {
    for (const colorScheme of ["light", "dark"] as const) {
      const context = await browser.newContext({ viewport: { width, height: 844 }, colorScheme });
      const page = await context.newPage();
      const wrong: string[] = [];
      page.on("console", (m) => m.type() === "error" && wrong.push(m.text()));
      page.on("pageerror", (e) => wrong.push(String(e)));
      await page.goto(url);
      await ready(page);
      const where = `${url} at ${width}, ${colorScheme}`;
      const sideways = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      expect.soft(sideways, `${where}: pixels beyond the right edge`).toBeLessThanOrEqual(0);
      expect.soft(await violations(page), `${where}: accessibility`).toEqual([]);
      expect.soft(wrong, `${where}: console`).toEqual([]);
      await context.close();
    }
  }
}
