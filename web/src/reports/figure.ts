/** A figure of a page: a plot of uPlot with a legend, buttons and its numbers. */

import uPlot from "uplot";
import { buttons, fileName } from "../figures";
import { type Value, saveCsv } from "../shared/csv";
import { type Child, el, shape } from "../shared/dom";
import { fmt, type Maybe, withUnit } from "../shared/format";
import type { Curve } from "./curves";
import { keyboard } from "./keyboard";
import { sheets, switched } from "./page";

/** Name of a curve; least, mean and greatest value; how many there are. */
export type Stats = [name: string, ...values: Maybe[]];

export interface Spec<C extends Curve = Curve> {
  title: string;
  help: string;
  unit: string;
  xName: string;
  xUnit: string;
  /** It is zoomed and read together with the others over time. */
  time?: boolean;
  curves: C[];
  line: (curve: C) => uPlot.Series;
  data: uPlot.AlignedData;
  /** In pixels. */
  height: number;
  /** All that the horizontal axis may show. */
  range: () => [number, number];
  options: Omit<uPlot.Options, "width" | "height" | "series">;
  buttons?: Child[];
  csv: () => Value[][];
  stats?: () => Stats[];
}

/** A figure, and what draws it once it is on the page. */
export interface Made {
  node: HTMLElement;
  start: () => uPlot;
}

export function figure<C extends Curve>(spec: Spec<C>): Made {
  const { title, curves } = spec;
  const keys = el("div", { class: "keys", role: "group", "aria-label": `Curves of ${title}` });
  const names = curves.map((curve) => curve.label).join(", ");
  const host = el("div", {
    class: "plot",
    tabindex: 0,
    role: "group",
    "aria-roledescription": "plot",
    "aria-label": `${title}: ${names}. Arrow keys read values, plus and minus zoom, 0 shows all.`,
  });
  const saves = el("span", { class: "saves" });
  const csvButton = el(
    "button",
    {
      type: "button",
      class: "quiet",
      "aria-label": `Download ${title} as CSV`,
      onclick: () => saveCsv(fileName(title, "csv"), spec.csv()),
    },
    "CSV",
  );
  const node = el(
    "figure",
    { class: "box", style: "margin-left:0;margin-right:0" },
    el(
      "figcaption",
      {},
      el("div", { class: "bar" }, el("h3", {}, title), ...(spec.buttons ?? []), saves, csvButton),
      spec.help === "" ? null : el("p", { class: "help" }, spec.help),
    ),
    keys,
    host,
    spec.stats === undefined ? null : numbers(title, spec.unit, spec.stats),
  );

  const start = () => {
    const lines = curves.map(spec.line);
    const outputs = curves.map(() => el("output"));
    const width = () => Math.max(200, host.clientWidth);
    const options: uPlot.Options = {
      width: width(),
      height: spec.height,
      legend: { show: false },
      focus: { alpha: 0.3 },
      padding: [8, 12, 0, 0],
      ...spec.options,
      series: [{}, ...lines],
    };
    options.hooks = withReadings(options.hooks ?? {}, keys, outputs);
    const u = new uPlot(options, spec.data, host);
    const plot = () => ({ title, library: uPlot, options, data: spec.data, shown: u, labels: curves.map((curve) => curve.label) });
    sheets.set(u, { host, plot });
    saves.replaceChildren(...buttons({ title, node, plot }));
    legend(u, curves, lines, outputs, keys);
    new ResizeObserver(() => {
      if (sheets.has(u) && width() !== u.width) u.setSize({ width: width(), height: spec.height });
    }).observe(host);
    keyboard(host, u, spec);
    return u;
  };
  return { node, start };
}

/** Hooks that write the values at the pointer into the legend, and stress the name of the curve that is nearest. */
function withReadings(hooks: uPlot.Hooks.Arrays, keys: HTMLElement, outputs: HTMLElement[]): uPlot.Hooks.Arrays {
  const read = (u: uPlot) => {
    const outside = (u.cursor.left ?? -1) < 0;
    outputs.forEach((output, i) => {
      const at = outside ? null : u.cursor.idxs?.[i + 1];
      output.textContent = at == null ? "" : fmt(u.data[i + 1]?.[at]);
    });
  };
  // uPlot calls it for the focus too, with that alone.
  const stress = (_: uPlot, index: number | null, change: uPlot.Series & { focus?: boolean }) => {
    const { focus } = change;
    if (focus == null) return;
    [...keys.children].forEach((key, i) => key.classList.toggle("focus", index === i + 1 && focus));
  };
  return { ...hooks, setCursor: [...(hooks.setCursor ?? []), read], setSeries: [stress] };
}

/** A button for each curve: it shows or hides the curve, or with Shift all others. */
function legend(u: uPlot, curves: Curve[], lines: uPlot.Series[], outputs: HTMLElement[], keys: HTMLElement): void {
  const change = (j: number, show: boolean) => {
    const curve = curves[j];
    if (curve === undefined) return;
    u.setSeries(j + 1, { show });
    switched.set(curve.key, show);
    keys.children[j]?.setAttribute("aria-pressed", String(show));
  };
  curves.forEach((curve, i) => {
    const line = lines[i];
    const key = el(
      "button",
      { type: "button", class: "key", "aria-pressed": String(curve.show), title: "Click: hide or show. Shift-click: only this one." },
      line === undefined ? null : swatchLine(line),
      el("span", {}, curve.label),
      outputs[i],
    );
    key.addEventListener("click", (event) => {
      if (!event.shiftKey) {
        change(i, !u.series[i + 1]?.show);
        return;
      }
      const alone = u.series.every((series, j) => j === 0 || series.show === (j === i + 1));
      curves.forEach((_, j) => change(j, alone || j === i));
    });
    keys.append(key);
  });
}

/** A piece of a curve's line. */
function swatchLine(series: uPlot.Series): SVGSVGElement {
  const line = shape("svg", { width: 22, height: 10, "aria-hidden": "true" });
  const filled = typeof series.fill === "string";
  if (filled) line.append(shape("rect", { x: 0, y: 0, width: 22, height: 10, fill: String(series.fill) }));
  const y = filled ? 1 : 5;
  line.append(
    shape("line", {
      x1: 0,
      x2: 22,
      y1: y,
      y2: y,
      stroke: String(series.stroke),
      "stroke-width": (series.width ?? 1) + 0.8,
      "stroke-dasharray": (series.dash ?? []).join(" "),
    }),
  );
  return line;
}

/** A table of what the curves have, made when it is opened. */
function numbers(title: string, unit: string, stats: () => Stats[]): HTMLDetailsElement {
  const details = el("details", { class: "numbers" }, el("summary", {}, "Numbers"));
  details.addEventListener("toggle", () => {
    if (details.childElementCount > 1) return;
    const head = ["Curve", "Minimum", "Mean of samples", "Maximum", "Samples"];
    const heads = head.map((text, i) => el("th", { scope: "col" }, i > 0 && i < 4 ? withUnit(text, unit) : text));
    const body = stats().map(([name, ...values]) =>
      el("tr", {}, el("th", { scope: "row" }, name), ...values.map((value, i) => el("td", {}, i === 3 ? String(value) : fmt(value)))),
    );
    const table = el("table", { "aria-label": `${title}, numbers` }, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...body));
    details.append(el("div", { class: "scroll", tabindex: 0 }, table));
  });
  return details;
}
