/** The shelf: runs to filter, sort and overlay; what runs now; reports. */

import { loadArenas } from "./arena";
import { heading } from "./heading";
import { repaint, showLive } from "./live";
import { swatch, themeButton } from "../shared/colours";
import { byId } from "../shared/dom";
import { type Order, type Row, rows, signed, sorted, spread } from "../shared/rows";
import type { Differences, Live, Metric, Shelf } from "../shared/types";

/** Columns that belong together; a metric that no run has is not shown. */
const SETS: [string, string[]][] = [
  ["Rate and delay", ["goodput", "goodput_total", "utilisation", "queue_p50", "queue_p95", "queue_p99", "loss", "jain"]],
  ["Round trips and window", ["goodput", "srtt_mean", "srtt_p95", "hol_p50", "hol_p90", "retransmits", "timeouts"]],
  ["All", []],
];

const table = byId<HTMLTableElement>("table");
const filter = byId<HTMLInputElement>("filter");
const average = byId<HTMLInputElement>("average");
const columns = byId<HTMLSelectElement>("set");
const overlay = byId<HTMLButtonElement>("overlay");
const base = byId<HTMLSelectElement>("base");

const chosen = new Set<string>();
let order: Order = { key: "written", down: true };
let shelf: Shelf | undefined;
/** Rows less the one that is chosen in `base`. */
let differences: Differences = {};

function overlayOf(paths: Iterable<string>): string {
  return `overlay?${new URLSearchParams([...paths].map((path): [string, string] => ["run", path])).toString()}`;
}

function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  text: string,
  className = "",
): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  e.textContent = text;
  if (className !== "") e.className = className;
  return e;
}

function shownMetrics(all: Row[]): Metric[] {
  if (shelf === undefined) return [];
  const wanted = SETS[Number(columns.value)]?.[1] ?? [];
  const has = (m: Metric) => all.some((r) => r.values.has(m.key));
  return shelf.metrics.filter((m) => (wanted.length === 0 || wanted.includes(m.key)) && has(m));
}

function sort(next: Order): void {
  order = next;
  draw();
}

function bodyRow(row: Row, metrics: Metric[]): HTMLTableRowElement {
  const tr = document.createElement("tr");
  const path = row.paths[0] ?? "";
  const pick = document.createElement("td");
  const box = document.createElement("input");
  box.type = "checkbox";
  box.checked = chosen.has(path);
  box.setAttribute("aria-label", `Choose ${row.name}`);
  box.addEventListener("change", () => {
    if (box.checked) chosen.add(path);
    else chosen.delete(path);
    tr.toggleAttribute("data-chosen", box.checked);
    drawButton();
  });
  tr.toggleAttribute("data-chosen", box.checked);
  pick.append(box);
  const name = document.createElement("th");
  name.scope = "row";
  const link = make("a", row.name);
  link.href = overlayOf([path]);
  name.append(link);
  if (row.seeds > 1) name.append(make("span", ` ${row.seeds} seeds`, "pm"));
  const controllers = make("td", "", "words");
  for (const controller of row.controllers) {
    controllers.append(swatch(shelf?.colours[controller]), `${controller} `);
  }
  tr.append(pick, name, controllers);
  for (const m of metrics) {
    const value = row.values.get(m.key);
    const td = make("td", value === undefined ? "" : value.mean.toFixed(m.decimals), value === undefined ? "none" : "");
    if (value !== undefined) td.append(make("span", spread(value, m.decimals), "pm"));
    const difference = differences[path]?.[m.key];
    if (average.checked && difference !== undefined) td.append(make("span", signed(difference, m.decimals), "less"));
    tr.append(td);
  }
  const written = new Date(row.written * 1000);
  const when = make("td", written.toLocaleString(undefined, { dateStyle: "short", timeStyle: "short" }));
  tr.append(when);
  return tr;
}

/** Rows that others can be held against: those of several seeds. The choice stays where its row does. */
function drawBase(all: Row[]): void {
  const several = average.checked ? all.filter((r) => r.seeds > 1) : [];
  byId("base-label").hidden = several.length < 2;
  const before = base.value;
  const options = several.map((r) => new Option(`${r.name} (${r.controllers.join("+")})`, r.paths[0] ?? ""));
  base.replaceChildren(new Option("no row", ""), ...options);
  base.value = options.some((o) => o.value === before) ? before : "";
  if (base.value !== before) differences = {};
}

async function loadDifferences(): Promise<void> {
  const run = base.value;
  if (run === "") {
    differences = {};
    return;
  }
  const answer = await fetch(`api/differences?${new URLSearchParams({ run }).toString()}`);
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  const found = (await answer.json()) as Differences;
  // Another may have been chosen meanwhile.
  if (base.value === run) differences = found;
}

function drawButton(): void {
  const most = shelf?.most ?? 4;
  overlay.disabled = chosen.size === 0 || chosen.size > most;
  overlay.textContent = chosen.size > most ? `Choose at most ${most}` : `Overlay ${chosen.size || ""}`.trim();
}

function draw(): void {
  if (shelf === undefined) return;
  const all = rows(shelf.entries, shelf.groups, filter.value, average.checked);
  const metrics = shownMetrics(all);
  drawBase(all);
  const head = document.createElement("tr");
  const pick = document.createElement("th");
  pick.append(make("span", "Choose", "unit"));
  head.append(
    pick,
    ...[
      { key: "name", name: "Run", unit: "", help: "Folder below the folder of results", words: true },
      { key: "controllers", name: "Controllers", unit: "", help: "Each once, in the order of flows", words: true },
      ...metrics.map((m) => ({ key: m.key, name: m.label, unit: m.unit, help: m.help, words: false })),
      { key: "written", name: "Written", unit: "", help: "When the run ended", words: false },
    ].map((column) => heading(table, column, order, sort)),
  );
  const thead = document.createElement("thead");
  thead.append(head);
  const tbody = document.createElement("tbody");
  tbody.append(...sorted(all, order).map((r) => bodyRow(r, metrics)));
  table.replaceChildren(thead, tbody);
  byId("count").textContent =
    shelf.entries.length === 0
      ? "No runs yet: slackwater run lte-demo makes one."
      : `${all.length} rows of ${shelf.entries.length} runs${
          Object.keys(differences).length > 0 ? "; * differs at 5 %, seed by seed" : ""
        }`;
  drawButton();
}

async function load(): Promise<void> {
  const state = byId("state");
  try {
    const answer = await fetch("api/shelf");
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
    shelf = (await answer.json()) as Shelf;
    await loadArenas();
    const there = shelf.entries.some((e) => e.path === base.value);
    if (!there) base.value = "";
    await loadDifferences();
    state.textContent = "";
    state.className = "dim";
  } catch (e) {
    state.textContent = `Cannot read the results: ${String(e)}`;
    state.className = "error";
    return;
  }
  byId("root").textContent = `${shelf.root}, slackwater ${shelf.version}`;
  const known = new Set(shelf.entries.map((e) => e.path));
  for (const path of chosen) if (!known.has(path)) chosen.delete(path);
  const pages = shelf.pages.map((page) => {
    const li = document.createElement("li");
    const link = make("a", page.path);
    link.href = `files/${page.path.split("/").map(encodeURIComponent).join("/")}`;
    li.append(link);
    return li;
  });
  byId("pages").replaceChildren(...(pages.length > 0 ? pages : [make("li", "None yet.", "dim")]));
  draw();
}

/** The command says what runs, and when the folder changed. */
function listen(): void {
  const events = new EventSource("api/events");
  events.addEventListener("live", (e) => {
    showLive(byId("now"), byId("live"), JSON.parse((e as MessageEvent<string>).data) as Live[]);
  });
  events.addEventListener("shelf", () => void load());
  events.onerror = () => {
    byId("state").textContent = "The command does not answer; trying again.";
  };
  events.onopen = () => {
    byId("state").textContent = "";
  };
}

columns.append(...SETS.map(([name], i) => new Option(name, String(i))));
filter.addEventListener("input", draw);
average.addEventListener("change", draw);
columns.addEventListener("change", draw);
base.addEventListener("change", () => {
  loadDifferences()
    .then(draw)
    .catch((e: unknown) => {
      byId("state").textContent = `Cannot read the differences: ${String(e)}`;
    });
});
overlay.addEventListener("click", () => {
  location.href = overlayOf(chosen);
});
// A table is faster found than reached: "/" goes to the filter.
document.addEventListener("keydown", (e) => {
  if (e.key === "/" && !(e.target instanceof HTMLInputElement)) {
    e.preventDefault();
    filter.focus();
  }
});
themeButton(byId<HTMLButtonElement>("theme"), repaint);
void load().then(listen);
