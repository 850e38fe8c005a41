/** Tables of the arena: who is how good in which cell, to filter and sort. */

import { heading } from "./heading";
import { swatch } from "../shared/colours";
import { byId } from "../shared/dom";
import { type Result, results } from "../shared/results";
import { type Order, parseFilter, sorted, spread } from "../shared/rows";
import type { Arenas, Metric } from "../shared/types";

const section = byId("arena");
const table = byId<HTMLTableElement>("arena-table");
const filter = byId<HTMLInputElement>("arena-filter");
const path = byId<HTMLSelectElement>("arena-path");

let all: Arenas | undefined;
let order: Order = { key: "name", down: false };

function text(tag: "td" | "th", content: string, className = ""): HTMLTableCellElement {
  const cell = document.createElement(tag);
  cell.textContent = content;
  if (className !== "") cell.className = className;
  return cell;
}

const COUNTS: Metric[] = [
  { key: "wins", label: "dominates", unit: "", decimals: 0, better: "higher", help: "Systems of the cell that it dominates" },
  { key: "losses", label: "dominated by", unit: "", decimals: 0, better: "lower", help: "Systems of the cell that dominate it" },
];

function sort(next: Order): void {
  order = next;
  draw();
}

function bodyRow(result: Result, shown: Metric[]): HTMLTableRowElement {
  const { cell, system, row } = result;
  const tr = document.createElement("tr");
  const head = text("th", cell.name);
  head.scope = "row";
  head.title = cell.title;
  const name = text("td", "", "words");
  name.append(swatch(all?.colours[system.controller]), system.title, system.on_front ? " ★" : "");
  tr.append(head, name);
  for (const m of shown) {
    const value = row.values.get(m.key);
    const td = text("td", value === undefined ? "" : value.mean.toFixed(m.decimals), value === undefined ? "none" : "");
    if (value !== undefined) {
      const sides = document.createElement("span");
      sides.className = "pm";
      sides.textContent = spread(value, m.decimals);
      td.append(sides);
    }
    tr.append(td);
  }
  const run = document.createElement("button");
  run.type = "button";
  run.className = "quiet";
  run.textContent = "▸";
  run.setAttribute("aria-label", `The run of ${system.title} in ${cell.name}`);
  run.addEventListener("click", () => {
    const shownRun = byId("arena-run");
    shownRun.hidden = false;
    (shownRun.firstElementChild as HTMLElement).textContent = system.command;
  });
  const last = text("td", "");
  last.append(run);
  tr.append(last);
  return tr;
}

function draw(): void {
  const arena = all?.arenas.find((a) => a.path === path.value);
  if (all === undefined || arena === undefined) return;
  const tests = parseFilter(filter.value);
  const kept = results(arena.table).filter((r) => tests.every((test) => test(r.entry)));
  const has = (m: Metric) => kept.some((r) => r.row.values.has(m.key));
  const shown = [...COUNTS, ...all.measures].filter(has);
  const head = document.createElement("tr");
  head.append(
    ...[
      { key: "name", name: "Cell", unit: "", help: "In the order of the set", words: true },
      { key: "controllers", name: "System", unit: "", help: "Sender and edge function", words: true },
      ...shown.map((m) => ({ key: m.key, name: m.label, unit: m.unit, help: `${m.key}: ${m.help}`, words: false })),
    ].map((column) => heading(table, column, order, sort)),
    text("th", "Run", "unit"),
  );
  const thead = document.createElement("thead");
  thead.append(head);
  const tbody = document.createElement("tbody");
  const byRow = new Map(kept.map((r) => [r.row, r]));
  const ordered = sorted(
    kept.map((r) => r.row),
    order,
  );
  tbody.append(...ordered.flatMap((row) => byRow.get(row) ?? []).map((r) => bodyRow(r, shown)));
  table.replaceChildren(thead, tbody);
  const total = arena.table.cells.reduce((sum, cell) => sum + cell.systems.length, 0);
  const quick = arena.table.quick ? ", a quick look" : "";
  byId("arena-count").textContent = `${kept.length} of ${total} results, ${arena.table.seeds.length} seeds${quick}`;
  const link = byId<HTMLAnchorElement>("arena-page");
  link.href = `files/${arena.path.split("/").map(encodeURIComponent).join("/")}/index.html`;
}

/** Reads the arenas anew. */
export async function loadArenas(): Promise<void> {
  const answer = await fetch("api/arenas");
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  all = (await answer.json()) as Arenas;
  section.hidden = all.arenas.length === 0;
  const chosen = path.value;
  path.replaceChildren(...all.arenas.map((a) => new Option(a.path, a.path)));
  if (all.arenas.some((a) => a.path === chosen)) path.value = chosen;
  draw();
}

filter.addEventListener("input", draw);
path.addEventListener("change", draw);
