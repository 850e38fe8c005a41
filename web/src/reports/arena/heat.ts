/** System by cell, one measure in shades. */

import { swatch } from "../../shared/colours";
import { el } from "../../shared/dom";
import { fixed, withUnit } from "../../shared/format";
import type { Cell, Metric, System } from "../../shared/types";
import { paintOf } from "../page";
import { show } from "./lead";
import { cells, CLASSES, data, measured, measures, sidesOf, state } from "./state";

export function heat(): void {
  const m = measures.get(state.heat);
  if (m === undefined) return;
  const pick = el("select", { id: "heat-measure" });
  pick.append(
    ...data.measures
      .filter((other) => measured(cells, other))
      .map((other) => el("option", { value: other.key, selected: other.key === state.heat }, withUnit(other.label, other.unit))),
  );
  pick.addEventListener("change", () => {
    state.heat = pick.value;
    heat();
    document.getElementById("heat-measure")?.focus();
  });
  const tables = Object.keys(CLASSES).map((kind) => tableOf(kind, m));
  document.querySelector("[data-heat]")?.replaceChildren(
    el("div", { class: "tools" }, el("label", {}, "Measure ", pick)),
    el("p", { class: "help" }, `${m.help} The greener, the better within its column; bold is the best.`),
    ...tables.filter((table) => table !== null),
  );
}

/** Where a value lies between the worst of its cell, 0, and the best, 1. */
function shadeOf(cell: Cell, m: Metric): (value: number) => number {
  const all = cell.systems.flatMap((s) => s.values[m.key]?.mean ?? []);
  // Delays and times differ by orders of magnitude: their shades go by the logarithm.
  const positive = all.every((v) => v > 0);
  const sign = m.better === "lower" ? -1 : 1;
  const scale = (v: number) => sign * (positive ? Math.log(v) : v);
  const [low, high] = [Math.min(...all.map(scale)), Math.max(...all.map(scale))];
  return (v) => (high > low ? (scale(v) - low) / (high - low) : 1);
}

function tableOf(kind: string, m: Metric): HTMLElement | null {
  const columns = cells.filter((c) => c.class === kind && measured([c], m)).map((cell) => ({ cell, shade: shadeOf(cell, m) }));
  if (columns.length === 0) return null;
  const systems = new Map<string, System>();
  for (const { cell } of columns) for (const s of cell.systems) if (!systems.has(s.name)) systems.set(s.name, s);
  const rows = [...systems.values()].map((s) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, swatch(paintOf(s.controller)), s.title),
      ...columns.map(({ cell, shade }) => field(cell, s.name, m, shade)),
    ),
  );
  const heads = columns.map(({ cell }) => el("th", { scope: "col" }, el("a", { href: `#${cell.name}`, style: "color:inherit" }, cell.name)));
  const name = CLASSES[kind] ?? kind;
  return el(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": `${name}, system by cell` },
    el(
      "table",
      { class: "heat" },
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, name), ...heads)),
      el("tbody", {}, ...rows),
    ),
  );
}

function field(cell: Cell, system: string, m: Metric, shade: (value: number) => number): HTMLElement {
  const mine = cell.systems.find((other) => other.name === system);
  const value = mine?.values[m.key];
  if (mine === undefined || value === undefined) return el("td", { class: "none" }, el("span", { "aria-label": "no value" }));
  const share = shade(value.mean);
  const text = fixed(value.mean, m.decimals);
  const name = `${mine.title} in ${cell.name}: ${text}${sidesOf(value, m)} ${m.unit}`;
  return el(
    "td",
    { style: `--share:${(share * 100).toFixed(0)}%`, class: share > 0.999 ? "front" : share < 0.05 ? "worst" : null },
    el("button", { type: "button", title: name, "aria-label": name, onclick: () => show(cell, mine) }, text),
  );
}
