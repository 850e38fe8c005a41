/** The figures of a paper's page. Everything comes from the JSON block; names are only ever set as text. */

import { fileName } from "../../figures";
import { withUnit } from "../../shared/format";
import type { PaperPage, PaperPanel } from "../data";
import { drawn } from "../drawn";
import { clear, dataOf, drawnBy, redraw } from "../page";
import { scatter } from "../scatter";
import { tables } from "../tables";
import { barPlot } from "./bars";
import { cdfPlot } from "./cdf";
import { timePlot } from "./time";

interface Made {
  node: HTMLElement;
  start: () => unknown;
}

function scatterPlot(panel: PaperPanel): Made {
  const trade = panel.scatter;
  if (trade === null) throw new Error(`panel ${panel.id}: a scatter plot without points`);
  const x = withUnit(trade.x_label, trade.x_unit);
  const y = withUnit(trade.y_label, trade.y_unit);
  return drawn({
    title: panel.title,
    help: panel.help,
    file: fileName(panel.title, "csv"),
    rows: () => [
      ["label", "controller", x, `${x} low 95 %`, `${x} high 95 %`, y, `${y} low 95 %`, `${y} high 95 %`],
      ...trade.points.map((p) => [p.label, p.controller, ...p.x, ...p.y]),
    ],
    least: 260,
    paint: (width) => scatter(trade, width, 340),
  });
}

const KINDS: Record<PaperPanel["kind"], (panel: PaperPanel) => Made> = {
  time: timePlot,
  cdf: cdfPlot,
  bars: barPlot,
  scatter: scatterPlot,
};

const { figures } = dataOf<PaperPage>();

function draw(): void {
  clear();
  for (const host of document.querySelectorAll<HTMLElement>("[data-panels]")) {
    const made = (figures[Number(host.dataset["panels"])] ?? []).map((panel) => {
      const one = KINDS[panel.kind](panel);
      if (panel.wide) one.node.classList.add("wide");
      return one;
    });
    host.replaceChildren(...made.map((one) => one.node));
    for (const one of made) one.start();
  }
}

drawnBy(draw);
tables();
redraw();
