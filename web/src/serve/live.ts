/** What is running now: a bar, and the curves that the command reports. */

import uPlot from "uplot";
import { buttons, type Figure, fileName } from "../figures";
import { css } from "../shared/colours";
import { saveCsv } from "../shared/csv";
import "uplot/dist/uPlot.min.css";
import type { Curve, Live } from "../shared/types";

interface Job {
  box: HTMLElement;
  title: HTMLElement;
  bar: HTMLProgressElement;
  note: HTMLElement;
  charts: HTMLElement;
  plots: Map<string, uPlot>;
}

const jobs = new Map<string, Job>();

export function showLive(section: HTMLElement, list: HTMLElement, running: Live[]): void {
  section.hidden = running.length === 0;
  const names = new Set(running.map((live) => live.path));
  for (const [path, job] of jobs) {
    if (!names.has(path)) {
      for (const plot of job.plots.values()) plot.destroy();
      job.box.remove();
      jobs.delete(path);
    }
  }
  for (const live of running) {
    const job = jobs.get(live.path) ?? begin(list, live.path);
    job.title.textContent = `${live.kind}: ${live.title}`;
    if (live.share === null) job.bar.removeAttribute("value");
    else job.bar.value = live.share;
    job.note.textContent = describe(live);
    for (const curve of live.curves) draw(job, curve);
  }
}

function describe(live: Live): string {
  const elapsed = `${live.elapsed_s.toFixed(0)} s`;
  if (live.share === null) return elapsed;
  const percent = `${(live.share * 100).toFixed(0)} % after ${elapsed}`;
  if (live.share < 0.02) return percent;
  return `${percent}, about ${((live.elapsed_s * (1 - live.share)) / live.share).toFixed(0)} s left`;
}

function begin(list: HTMLElement, path: string): Job {
  const box = document.createElement("article");
  box.className = "job";
  const header = document.createElement("header");
  const title = document.createElement("strong");
  const note = document.createElement("span");
  note.className = "dim";
  header.append(title, note);
  const bar = document.createElement("progress");
  bar.max = 1;
  bar.setAttribute("aria-label", `Progress of ${path}`);
  const charts = document.createElement("div");
  charts.className = "charts";
  box.append(header, bar, charts);
  list.append(box);
  const job = { box, title, bar, note, charts, plots: new Map<string, uPlot>() };
  jobs.set(path, job);
  return job;
}

function draw(job: Job, curve: Curve): void {
  const data: uPlot.AlignedData = [curve.x, curve.y];
  const known = job.plots.get(curve.name);
  if (known) {
    known.setData(data);
    label(known, curve);
    return;
  }
  const axis = { stroke: () => css("--dim"), grid: { stroke: () => css("--line"), width: 1 } };
  const unit = curve.unit === "" ? curve.name : `${curve.name}, ${curve.unit}`;
  // Two beside each other where the style sheet has them so.
  const room = job.charts.clientWidth;
  const own = room >= 850 ? (room - 10) / 2 : room;
  const options: uPlot.Options = {
    width: Math.max(320, Math.min(640, own)),
    height: 180,
    title: unit,
    scales: { x: { time: false } },
    legend: { show: false },
    axes: [axis, { ...axis, size: 60 }],
    series: [{}, { stroke: () => css("--accent"), width: 1.5, points: { show: false } }],
  };
  const figure = document.createElement("figure");
  job.charts.append(figure);
  const plot = new uPlot(options, data, figure);
  // The plot names itself: no title of the picture beside it.
  const still = () => ({ title: "", library: uPlot, options, data: plot.data, shown: plot, labels: [] });
  figure.append(saves({ title: curve.name, node: figure, plot: still }, plot, unit));
  plot.root.setAttribute("role", "img");
  label(plot, curve);
  job.plots.set(curve.name, plot);
}

/** Buttons that save the curve as it is now. */
function saves(of: Figure, plot: uPlot, unit: string): HTMLElement {
  const bar = document.createElement("div");
  bar.className = "saves";
  const csv = document.createElement("button");
  csv.type = "button";
  csv.className = "quiet";
  csv.textContent = "CSV";
  csv.setAttribute("aria-label", `Download ${of.title} as CSV`);
  csv.addEventListener("click", () => {
    const [x, y] = plot.data;
    saveCsv(fileName(of.title, "csv"), [["x", unit], ...[...x].map((at, i) => [at, y?.[i]])]);
  });
  // On paper it would be the whole page's business.
  bar.append(...buttons(of).filter((button) => button.textContent !== "PDF"), csv);
  return bar;
}

/** The theme changed. */
export function repaint(): void {
  for (const job of jobs.values()) for (const plot of job.plots.values()) plot.redraw();
}

/** A screen reader hears the latest value. */
function label(plot: uPlot, curve: Curve): void {
  const last = curve.y[curve.y.length - 1];
  plot.root.setAttribute("aria-label", `${curve.name}: ${last?.toPrecision(4) ?? "no value yet"} ${curve.unit}`);
}
