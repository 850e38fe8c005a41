/** Each cell's systems, one measure against another; and all cells in one picture. */

import { fileName } from "../../figures";
import { saveCsv } from "../../shared/csv";
import { el } from "../../shared/dom";
import type { Cell, Metric, System } from "../../shared/types";
import type { Trade, TradePoint } from "../data";
import { savesOf } from "../drawn";
import { redraw } from "../page";
import { scatter } from "../scatter";
import { cells, csvOf, measures, state, triple } from "./state";

/** The least width of a plot in pixels. */
const LEAST = 260;

function tradeOf(cell: Cell, y: Metric, x: Metric): Trade {
  const points = cell.systems.flatMap((s): TradePoint[] => {
    const [down, up] = [s.values[x.key], s.values[y.key]];
    if (down === undefined || up === undefined) return [];
    const samples = s.samples.map(([b, a]): [number, number] => [a, b]);
    return [{ label: s.title, controller: s.controller, x: triple(down), y: triple(up), samples, hollow: s.edge !== "none" }];
  });
  const xs = points.map((p) => p.x[0] ?? 0);
  const least = Math.min(...xs);
  const log = state.log && least > 0 && Math.max(...xs) / least > 4;
  return { x_label: x.label, x_unit: x.unit, y_label: y.label, y_unit: y.unit, points, log };
}

export function fronts(): void {
  for (const host of document.querySelectorAll<HTMLElement>("[data-front]")) {
    const cell = cells[Number(host.dataset["front"])];
    const [y, x] = [measures.get(cell?.front[0] ?? ""), measures.get(cell?.front[1] ?? "")];
    if (cell !== undefined && y !== undefined && x !== undefined) front(host, cell, tradeOf(cell, y, x));
  }
}

function front(host: HTMLElement, cell: Cell, trade: Trade): void {
  const plot = el("div", { class: "plot" });
  const title = `${trade.y_label} against ${trade.x_label}`;
  const act = () => {
    state.log = !state.log;
    redraw();
  };
  const log = el("button", { type: "button", class: "quiet", "aria-pressed": String(state.log), onclick: act }, "Log");
  const label = `Download ${title} of ${cell.name} as CSV`;
  const toFile = () => saveCsv(fileName(cell.name, "csv"), csvOf(cell));
  const csv = el("button", { type: "button", class: "quiet", "aria-label": label, onclick: toFile }, "CSV");
  const bar = el("div", { class: "bar" }, el("h3", {}, title), log);
  const help = "Best is high and left; dashed: the Pareto front. Hollow marks have an edge function; small dots are seeds, bars 95 % intervals.";
  const node = el(
    "figure",
    { class: "box", style: "margin:0 0 14px" },
    el("figcaption", {}, bar, el("p", { class: "help" }, help)),
    plot,
  );
  bar.append(savesOf(`${title}, ${cell.name}`, node, plot), csv);
  host.replaceChildren(node);
  if (trade.points.length === 0) return;
  const height = Math.max(340, Math.min(520, 240 + 11 * trade.points.length));
  plot.append(scatter(trade, Math.max(LEAST, plot.clientWidth), height));
}

const mean = (list: number[]): number => list.reduce((a, b) => a + b, 0) / list.length;

/** A system's numbers, each over the best of its cell. */
interface Sum {
  s: System;
  /** Goodput in percent of the most. */
  y: number[];
  /** The logarithm of the delay over the least. */
  x: number[];
}

/** All cells in one picture: each number over the best of its cell, means over cells. */
export function hero(): void {
  const host = document.querySelector("[data-hero]");
  if (host === null) return;
  const compared = cells.filter((c) => c.front[0] === "goodput" && c.front[1] === "delay_p95");
  const points = [...sumsOf(compared).values()]
    .filter((sum) => sum.x.length >= 0.6 * compared.length)
    .map(({ s, x, y }): TradePoint => ({
      label: s.title,
      controller: s.controller,
      hollow: s.edge !== "none",
      samples: [],
      x: [Math.exp(mean(x)), null, null],
      y: [mean(y), null, null],
    }));
  if (points.length < 2) {
    host.closest("section")?.remove();
    return;
  }
  const trade = { x_label: "p95 queue delay over the least", x_unit: "times", y_label: "goodput over the most", y_unit: "%", points, log: true };
  const plot = el("div", { class: "plot" });
  const help =
    `Senders in ${compared.length} cells: goodput as a share of the most that a system had there (mean over cells), against p95 queue ` +
    "delay as a multiple of the least there (geometric mean; the least of those with half of the most goodput). Hollow marks have an edge " +
    "function. Dashed: the Pareto front.";
  const node = el("figure", { style: "margin:0" }, el("p", { class: "help" }, help), plot);
  node.prepend(el("div", { class: "bar" }, el("span"), savesOf("Goodput against queue delay over all cells", node, plot)));
  host.replaceChildren(node);
  plot.append(scatter(trade, Math.max(LEAST, plot.clientWidth), 520));
}

function sumsOf(compared: Cell[]): Map<string, Sum> {
  const sums = new Map<string, Sum>();
  for (const cell of compared) {
    const all = cell.systems.flatMap((s) => {
      const [goodput, delay] = [s.values["goodput"], s.values["delay_p95"]];
      return goodput === undefined || delay === undefined ? [] : [{ s, goodput: goodput.mean, delay: delay.mean }];
    });
    const most = Math.max(...all.map(({ goodput }) => goodput));
    // The least delay of those that send at least half of the most: a sender that starves has no queue.
    const least = Math.min(...all.filter(({ goodput }) => goodput >= most / 2).map(({ delay }) => delay));
    for (const { s, goodput, delay } of all) {
      const sum = sums.get(s.name) ?? { s, y: [], x: [] };
      sums.set(s.name, sum);
      sum.y.push((100 * goodput) / most);
      sum.x.push(Math.log(Math.max(delay, 0.1) / Math.max(least, 0.1)));
    }
  }
  return sums;
}
