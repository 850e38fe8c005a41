// The sessions of a user plane function, each second; the curves of one, and of all together.
"use strict";

const POINTS = 300; // five minutes
const ROWS = 200;
const $ = (id) => document.getElementById(id);
const history = new Map(); // SEID: points in the order of time
const totals = [];
let last = null;
let chosen = null;
let order = { key: "down", falling: true };

const COLUMNS = [
  ["ue", "UE", (s) => s.ue],
  ["down", "down Mbit/s", (s) => s.down.toFixed(2)],
  ["up", "up Mbit/s", (s) => s.up.toFixed(2)],
  ["rtt", "RTT ms", (s) => number(s.rtt, 1)],
  ["path", "path ms", (s) => number(s.path, 1)],
  ["target", "target ms", (s) => number(s.target, 1)],
  ["backlog", "waiting kB", (s) => number(s.backlog, 1)],
  ["refused", "refused", (s) => String(s.refused)],
  ["state", "vAQM", (s) => s.state],
];

function number(value, digits) {
  return value === null ? "" : value.toFixed(digits);
}

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// What is said of a session now, with rates since the look before.
function point(session, before, seconds) {
  const rate = (way) => {
    const grown = before ? session[way].bytes - before[way].bytes : 0;
    return seconds > 0 && grown > 0 ? (grown * 8e-6) / seconds : 0;
  };
  const aqm = session.vaqm;
  return {
    seid: session.seid,
    ue: session.ue ? session.ue.v4 ?? session.ue.v6 ?? "" : "",
    down: rate("down"),
    up: rate("up"),
    rtt: aqm ? aqm.rtt_ms : null,
    path: aqm ? aqm.path_ms : null,
    target: aqm ? aqm.target_ms : null,
    backlog: aqm ? aqm.backlog_bytes / 1e3 : null,
    refused: session.down.refused + session.up.refused,
    state: aqm ? aqm.state : "off",
  };
}

// The quantile `q` of a histogram's growth, in ms: the upper end of the bucket in which it lies.
function quantile(now, before, q) {
  const grown = now.buckets.map((b, k) => b.count - (before ? before.buckets[k].count : 0));
  const all = grown.reduce((a, b) => a + b, 0);
  if (all <= 0) return null;
  let sum = 0;
  const at = grown.findIndex((n) => (sum += n) >= q * all);
  const bound = now.buckets[at].le_s ?? now.buckets[now.buckets.length - 2].le_s;
  return bound * 1e3;
}

function figure(title, unit, lines) {
  const all = lines.flatMap((l) => l.values).filter((v) => v !== null);
  const top = Math.max(1e-3, ...all) * 1.05;
  const out = document.createElement("figure");
  const caption = element("figcaption", `${title}, up to ${top.toPrecision(2)} ${unit}: `);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${POINTS - 1} 100`);
  svg.setAttribute("preserveAspectRatio", "none");
  lines.forEach((line, k) => {
    caption.append(element("span", `${line.name} `, { class: `c${k}` }));
    const drawn = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
    const from = POINTS - line.values.length;
    const places = line.values.map((v, x) => (v === null ? null : `${from + x},${100 - (100 * v) / top}`));
    drawn.setAttribute("points", places.filter((p) => p !== null).join(" "));
    drawn.setAttribute("class", `c${k}`);
    svg.append(drawn);
  });
  out.append(caption, svg);
  return out;
}

function curves(points) {
  const of = (name, key) => ({ name, values: points.map((p) => p[key]) });
  return [
    figure("Rate", "Mbit/s", [of("down", "down"), of("up", "up")]),
    figure("Round trip", "ms", [of("RTT", "rtt"), of("target", "target"), of("path", "path")]),
    figure("Waiting", "kB", [of("backlog", "backlog")]),
  ];
}

function draw(sessions) {
  const words = $("filter").value.toLowerCase();
  const wanted = sessions.filter((s) => `${s.ue} ${s.seid} ${s.state}`.toLowerCase().includes(words));
  const sign = order.falling ? -1 : 1;
  const compare = (a, b) => {
    const [x, y] = [a[order.key] ?? -1, b[order.key] ?? -1];
    return sign * (typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) : x - y);
  };
  wanted.sort(compare);
  $("shown").textContent = `${Math.min(ROWS, wanted.length)} of ${sessions.length} sessions`;
  const rows = wanted.slice(0, ROWS).map((s) => {
    const row = element("tr", "", { tabindex: "0", "aria-selected": String(s.seid === chosen), title: `SEID ${s.seid}` });
    row.append(...COLUMNS.map(([, , show]) => element("td", show(s))));
    const choose = () => {
      chosen = s.seid;
      draw(sessions);
    };
    row.addEventListener("click", choose);
    row.addEventListener("keydown", (e) => e.key === "Enter" && choose());
    return row;
  });
  $("rows").replaceChildren(...rows);
  const points = history.get(chosen);
  $("curves").replaceChildren(...(points ? [element("h2", points[points.length - 1].ue), ...curves(points)] : []));
}

function head(redraw) {
  const cells = COLUMNS.map(([key, name]) => {
    const cell = document.createElement("th");
    const button = element("button", name);
    button.addEventListener("click", () => {
      order = { key, falling: order.key === key ? !order.falling : true };
      redraw();
    });
    cell.append(button);
    return cell;
  });
  $("head").replaceChildren(...cells);
}

let shown = [];

async function look() {
  const answer = await fetch("/api/upf");
  if (!answer.ok) throw new Error((await answer.text()).trim());
  const { status, sessions } = await answer.json();
  const at = performance.now();
  const seconds = last ? (at - last.at) / 1e3 : 0;
  const before = new Map(last ? last.sessions.map((s) => [s.seid, s]) : []);
  shown = sessions.map((s) => point(s, before.get(s.seid), seconds));
  for (const s of shown) {
    const points = history.get(s.seid) ?? [];
    points.push(s);
    if (points.length > POINTS) points.shift();
    history.set(s.seid, points);
  }
  const there = new Set(shown.map((s) => s.seid));
  for (const seid of history.keys()) if (!there.has(seid)) history.delete(seid);
  const old = last ? last.status : null;
  const wait = (q) => quantile(status.queue_delay.down, old && old.queue_delay.down, q);
  const sum = (key) => shown.reduce((a, s) => a + s[key], 0);
  totals.push({ down: sum("down"), up: sum("up"), p50: wait(0.5), p95: wait(0.95) });
  if (totals.length > POINTS) totals.shift();
  const of = (name, key) => ({ name, values: totals.map((p) => p[key]) });
  $("totals").replaceChildren(
    figure("All sessions", "Mbit/s", [of("down", "down"), of("up", "up")]),
    figure("Queue delay", "ms", [of("p50", "p50"), of("p95", "p95")]),
  );
  const dropped = Object.values(status.dropped).reduce((a, b) => a + b, 0);
  const marked = Object.values(status.marks).reduce((a, b) => a + b, 0);
  $("state").className = "";
  $("state").textContent =
    `${status.interface}, up for ${Math.round(status.uptime_s)} s: ${status.sessions} sessions, ` +
    `${dropped} packets dropped, ${marked} marked, ${(status.held_bytes / 1e3).toFixed(1)} kB waiting`;
  last = { at, status, sessions };
  draw(shown);
}

async function always() {
  try {
    await look();
  } catch (why) {
    $("state").className = "wrong";
    $("state").textContent = `No news: ${why.message}`;
    last = null;
  }
  setTimeout(always, 1000);
}

head(() => draw(shown));
$("filter").addEventListener("input", () => draw(shown));
always();
