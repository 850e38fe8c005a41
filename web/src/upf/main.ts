/** The sessions of a user plane function, each second; the curves of one, and of all together. */

import { byId, el } from "../shared/dom";
import { figure, type Line, POINTS } from "./figure";
import type { Answer, Histogram, Session } from "./types";

const ROWS = 200;

/** A session at one time. */
interface Point {
  seid: string;
  ue: string;
  /** Mbit/s. */
  down: number;
  up: number;
  /** Milliseconds. */
  rtt: number | null;
  path: number | null;
  target: number | null;
  /** Kilobytes that wait. */
  backlog: number | null;
  refused: number;
  state: string;
}

/** All sessions at one time: rates in Mbit/s, quantiles of the queue delay in milliseconds. */
interface Total {
  down: number;
  up: number;
  p50: number | null;
  p95: number | null;
}

/** By SEID: points in the order of time. */
const history = new Map<string, Point[]>();
const totals: Total[] = [];
/** The last answer, and when it came, in milliseconds. */
let last: (Answer & { at: number }) | null = null;
let chosen: string | null = null;
let order: { key: keyof Point; falling: boolean } = { key: "down", falling: true };
let shown: Point[] = [];

const number = (value: number | null): string => (value === null ? "" : value.toFixed(1));

const COLUMNS: [key: keyof Point, name: string, show: (s: Point) => string][] = [
  ["ue", "UE", (s) => s.ue],
  ["down", "down Mbit/s", (s) => s.down.toFixed(2)],
  ["up", "up Mbit/s", (s) => s.up.toFixed(2)],
  ["rtt", "RTT ms", (s) => number(s.rtt)],
  ["path", "path ms", (s) => number(s.path)],
  ["target", "target ms", (s) => number(s.target)],
  ["backlog", "waiting kB", (s) => number(s.backlog)],
  ["refused", "refused", (s) => String(s.refused)],
  ["state", "vAQM", (s) => s.state],
];

/** What is known of a session now, with rates since the look `seconds` before. */
function point(session: Session, before: Session | undefined, seconds: number): Point {
  const rate = (way: "down" | "up") => {
    const grown = before === undefined ? 0 : session[way].bytes - before[way].bytes;
    return seconds > 0 && grown > 0 ? (grown * 8e-6) / seconds : 0;
  };
  const aqm = session.vaqm;
  return {
    seid: session.seid,
    ue: session.ue?.v4 ?? session.ue?.v6 ?? "",
    down: rate("down"),
    up: rate("up"),
    rtt: aqm?.rtt_ms ?? null,
    path: aqm?.path_ms ?? null,
    target: aqm?.target_ms ?? null,
    backlog: aqm === null ? null : aqm.backlog_bytes / 1e3,
    refused: session.down.refused + session.up.refused,
    state: aqm?.state ?? "off",
  };
}

/** The quantile `q` of what a histogram grew by, in milliseconds: the upper end of the bucket in which it lies. */
function quantile(now: Histogram, before: Histogram | undefined, q: number): number | null {
  const grown = now.buckets.map((b, k) => b.count - (before?.buckets[k]?.count ?? 0));
  const all = grown.reduce((a, b) => a + b, 0);
  if (all <= 0) return null;
  let sum = 0;
  const at = grown.findIndex((n) => (sum += n) >= q * all);
  const bound = now.buckets[at]?.le_s ?? now.buckets[now.buckets.length - 2]?.le_s;
  return bound == null ? null : bound * 1e3;
}

/** Curves by name; `T` has the values. */
const linesOf = <T>(points: T[], names: [name: string, value: (p: T) => number | null][]): Line[] =>
  names.map(([name, value]) => ({ name, values: points.map(value) }));

const curves = (points: Point[]): HTMLElement[] => [
  figure("Rate", "Mbit/s", linesOf(points, [["down", (p) => p.down], ["up", (p) => p.up]])),
  figure("Round trip", "ms", linesOf(points, [["RTT", (p) => p.rtt], ["target", (p) => p.target], ["path", (p) => p.path]])),
  figure("Waiting", "kB", linesOf(points, [["backlog", (p) => p.backlog]])),
];

function compare(a: Point, b: Point): number {
  const [x, y] = [a[order.key] ?? -1, b[order.key] ?? -1];
  const up = typeof x === "string" ? x.localeCompare(String(y), "en", { numeric: true }) : x - Number(y);
  return order.falling ? -up : up;
}

function draw(): void {
  const words = byId<HTMLInputElement>("filter").value.toLowerCase();
  const wanted = shown.filter((s) => `${s.ue} ${s.seid} ${s.state}`.toLowerCase().includes(words)).sort(compare);
  byId("shown").textContent = `${Math.min(ROWS, wanted.length)} of ${shown.length} sessions`;
  byId("rows").replaceChildren(...wanted.slice(0, ROWS).map(row));
  const points = chosen === null ? undefined : history.get(chosen);
  const name = points?.[points.length - 1]?.ue;
  byId("curves").replaceChildren(...(points === undefined ? [] : [el("h2", {}, name), ...curves(points)]));
}

function row(s: Point): HTMLElement {
  const attributes = { tabindex: "0", "aria-selected": String(s.seid === chosen), title: `SEID ${s.seid}` };
  const made = el("tr", attributes, ...COLUMNS.map(([, , show]) => el("td", {}, show(s))));
  const choose = () => {
    chosen = s.seid;
    draw();
  };
  made.addEventListener("click", choose);
  made.addEventListener("keydown", (e) => e.key === "Enter" && choose());
  return made;
}

function head(): void {
  const cells = COLUMNS.map(([key, name]) => {
    const act = () => {
      order = { key, falling: order.key === key ? !order.falling : true };
      draw();
    };
    return el("th", {}, el("button", { onclick: act }, name));
  });
  byId("head").replaceChildren(...cells);
}

/** Keeps the last points of each session that is there. */
function remember(): void {
  for (const s of shown) {
    const points = history.get(s.seid) ?? [];
    points.push(s);
    if (points.length > POINTS) points.shift();
    history.set(s.seid, points);
  }
  const there = new Set(shown.map((s) => s.seid));
  for (const seid of history.keys()) if (!there.has(seid)) history.delete(seid);
}

async function look(): Promise<void> {
  const answer = await fetch("/api/upf");
  if (!answer.ok) throw new Error((await answer.text()).trim());
  const { status, sessions } = (await answer.json()) as Answer;
  const at = performance.now();
  const seconds = last === null ? 0 : (at - last.at) / 1e3;
  const before = new Map(last?.sessions.map((s) => [s.seid, s]));
  shown = sessions.map((s) => point(s, before.get(s.seid), seconds));
  remember();

  const wait = (q: number) => quantile(status.queue_delay.down, last?.status.queue_delay.down, q);
  const sum = (key: "down" | "up") => shown.reduce((a, s) => a + s[key], 0);
  totals.push({ down: sum("down"), up: sum("up"), p50: wait(0.5), p95: wait(0.95) });
  if (totals.length > POINTS) totals.shift();
  byId("totals").replaceChildren(
    figure("All sessions", "Mbit/s", linesOf(totals, [["down", (p) => p.down], ["up", (p) => p.up]])),
    figure("Queue delay", "ms", linesOf(totals, [["p50", (p) => p.p50], ["p95", (p) => p.p95]])),
  );

  const all = (counts: Record<string, number>) => Object.values(counts).reduce((a, b) => a + b, 0);
  byId("state").className = "";
  byId("state").textContent =
    `${status.interface}, up for ${Math.round(status.uptime_s)} s: ${status.sessions} sessions, ` +
    `${all(status.dropped)} packets dropped, ${all(status.marks)} marked, ${(status.held_bytes / 1e3).toFixed(1)} kB waiting`;
  last = { at, status, sessions };
  draw();
}

async function always(): Promise<void> {
  try {
    await look();
  } catch (why) {
    byId("state").className = "wrong";
    byId("state").textContent = `No news: ${why instanceof Error ? why.message : String(why)}`;
    last = null;
  }
  setTimeout(() => void always(), 1000);
}

head();
byId("filter").addEventListener("input", draw);
void always();
