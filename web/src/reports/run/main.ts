/** The page of a run, or of several side by side. Everything comes from the JSON block; names are only ever set as text. */

import { byId, el } from "../../shared/dom";
import type { Made } from "../figure";
import { clear, drawnBy, redraw, timed } from "../page";
import { tables } from "../tables";
import { cdfPlots } from "./cdf";
import { lanePlot } from "./lane-plot";
import { forget, shaded, striped } from "./lanes";
import { timePlot } from "./over-time";
import { picker } from "./picker";
import { covered, data, state } from "./state";
import { readTimeIn } from "./time";
import { tradeOff } from "./trade-off";

const charts = el("div");

function draw(): void {
  const kept = state.x;
  clear();
  forget();
  readTimeIn(null);
  charts.replaceChildren();
  state.full = covered();

  // What happened stands above what it adds up to.
  const stack = [...data.panels.map(timePlot), lanePlot()].filter((made): made is Made => made !== null);
  if (stack.length > 0) {
    charts.append(el("div", {}, strip(), ...stack.map((made) => made.node)));
    for (const made of stack) timed.push(made.start());
    again(kept);
  } else if (data.runs.length > 0) charts.append(el("p", { class: "box" }, "No run is drawn: choose one above."));

  const trade = tradeOff(data.trade_off);
  const side = cdfPlots();
  if (trade !== null) charts.append(trade.node);
  if (side.length > 0) charts.append(el("div", { class: "pair" }, ...side.map((made) => made.node)));
  trade?.start();
  for (const made of side) made.start();
}

/** Shows once more the range that was zoomed to, where there are points in it. */
function again(range: [number, number] | null): void {
  if (range !== null && range[0] < state.full[1] && range[1] > state.full[0]) zoom(range);
  else state.x = null;
}

function zoom([min, max]: [number, number]): void {
  for (const plot of timed) plot.setScale("x", { min, max });
}

/** What stays in sight above the plots over time. */
function strip(): HTMLElement {
  const readout = el("output", { "aria-live": "off" });
  readTimeIn(readout);
  const all = el("button", { type: "button", class: "quiet", onclick: () => zoom(state.full) }, "Show all");
  return el("div", { class: "strip box" }, el("h2", {}, "Over time"), readout, tintChoice(), all);
}

function tintChoice(): HTMLElement | null {
  const lanes = striped();
  if (lanes.length === 0) return null;
  const now = shaded();
  const options = lanes.map((lane) => el("option", { value: lane.key, selected: lane === now }, lane.label));
  const select = el("select", {}, el("option", { value: "" }, "none"), ...options);
  select.addEventListener("change", () => {
    state.shade = select.value;
    for (const plot of timed) plot.redraw(false);
  });
  return el("label", {}, "Tint by states of ", select);
}

drawnBy(draw);
tables();
byId("plots").append(el("div", {}, picker()), charts);
redraw();
