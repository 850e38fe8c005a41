/** Every result, to filter and to sort. */

import { swatch } from "../../shared/colours";
import { saveCsv } from "../../shared/csv";
import { el } from "../../shared/dom";
import { fixed } from "../../shared/format";
import { type Result, results } from "../../shared/results";
import { parseFilter, single } from "../../shared/rows";
import type { Metric } from "../../shared/types";
import { paintOf } from "../page";
import { show } from "./lead";
import { cells, csvOf, data, measured, measures, sidesOf, state } from "./state";

interface Heading {
  key: string;
  name: string;
  unit: string;
  help: string;
  words: boolean;
}

/** A whole number of cells; the results hold it beside the measures. */
const count = (r: Result, key: "wins" | "losses"): number => (r.row.values.get(key) ?? single(0)).mean;

function headingsOf(shown: Metric[]): Heading[] {
  return [
    { key: "cell", name: "Cell", unit: "", help: "Name of the cell", words: true },
    { key: "system", name: "System", unit: "", help: "Sender and edge function", words: true },
    { key: "wins", name: "dominates", unit: "", help: "Systems of the cell that it dominates", words: false },
    { key: "losses", name: "dominated by", unit: "", help: "Systems of the cell that dominate it", words: false },
    ...shown.map((m) => ({ key: m.key, name: m.label, unit: m.unit, help: `${m.key}: ${m.help}`, words: false })),
  ];
}

/** Results without a value come last whichever way the others are sorted. */
function compare(a: Result, b: Result): number {
  const { key, up } = state.order;
  const sign = up ? 1 : -1;
  if (key === "cell") return sign * (cells.indexOf(a.cell) - cells.indexOf(b.cell));
  if (key === "system") return sign * a.system.title.localeCompare(b.system.title, "en", { numeric: true });
  const [x, y] = [a.row.values.get(key)?.mean, b.row.values.get(key)?.mean];
  if (x === undefined || y === undefined) return (x === undefined ? 1 : 0) - (y === undefined ? 1 : 0);
  return sign * (x - y);
}

export function all(): void {
  const rows = results(data.table);
  const shown = data.measures.filter((m) => measured(cells, m));
  const status = el("span", { role: "status", "aria-live": "polite" });
  const body = el("tbody");
  const heads = headingsOf(shown).map((heading) => headOf(heading, () => fill()));

  const fill = () => {
    const tests = parseFilter(state.filter);
    const kept = rows.filter((r) => tests.every((test) => test(r.entry))).sort(compare);
    for (const { th, key } of heads) {
      if (key === state.order.key) th.setAttribute("aria-sort", state.order.up ? "ascending" : "descending");
      else th.removeAttribute("aria-sort");
    }
    body.replaceChildren(...kept.map((r) => rowOf(r, shown)));
    status.textContent = `${kept.length} of ${rows.length} results; ★ on the front`;
  };

  const filter = el("input", {
    type: "search",
    id: "filter",
    placeholder: "cubic edge=vaqm delay_p95<50",
    "aria-label": "Filter",
    autocomplete: "off",
    spellcheck: "false",
    value: state.filter,
  });
  filter.addEventListener("input", () => {
    state.filter = filter.value;
    fill();
  });
  const toFile = () => saveCsv("arena.csv", cells.flatMap(csvOf));
  const csv = el("button", { type: "button", class: "quiet", onclick: toFile }, "CSV");
  const help = "Words filter by cell, system and class; cell=, system=, edge=, sender= by name; key<n and key>n by a measure.";
  const run = el("th", { scope: "col" }, el("span", { class: "unit" }, "Run"));
  const head = el("thead", {}, el("tr", {}, ...heads.map(({ th }) => th), run));
  document.querySelector("[data-all]")?.replaceChildren(
    el("div", { class: "tools" }, el("label", {}, "Filter ", filter), status, csv),
    el("p", { class: "help" }, help),
    el("div", { class: "wide-scroll", tabindex: 0, role: "region", "aria-label": "Every result" }, el("table", { class: "all" }, head, body)),
  );
  fill();
}

function headOf({ key, name, unit, help, words }: Heading, fill: () => void): { key: string; th: HTMLElement } {
  const act = () => {
    // The best first.
    const first = words || measures.get(key)?.better === "lower";
    state.order = { key, up: state.order.key === key ? !state.order.up : first };
    fill();
  };
  const button = el(
    "button",
    { type: "button", title: help, onclick: act },
    el("span", { class: "name" }, name),
    el("span", { class: "unit" }, unit),
  );
  return { key, th: el("th", { scope: "col", class: words ? "words" : null }, button) };
}

function rowOf(r: Result, shown: Metric[]): HTMLElement {
  const { cell, system } = r;
  const values = shown.map((m) => {
    const value = system.values[m.key];
    if (value === undefined) return el("td", { class: "none" }, "–");
    return el("td", {}, fixed(value.mean, m.decimals), el("span", { class: "pm" }, sidesOf(value, m)));
  });
  const label = `The run of ${system.title} in ${cell.name}`;
  const run = el("button", { type: "button", class: "quiet", "aria-label": label, onclick: () => show(cell, system) }, "▸");
  return el(
    "tr",
    {},
    el("th", { scope: "row", class: "words" }, cell.name),
    el("td", { class: "words" }, swatch(paintOf(system.controller)), system.title, system.on_front ? " ★" : ""),
    el("td", {}, String(count(r, "wins"))),
    el("td", {}, String(count(r, "losses"))),
    ...values,
    el("td", {}, run),
  );
}
