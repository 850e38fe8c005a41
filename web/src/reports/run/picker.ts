/** Which runs are drawn. */

import { el } from "../../shared/dom";
import { narrowSwatch } from "../curves";
import { redraw } from "../page";
import { data, state } from "./state";

export function picker(): HTMLElement | null {
  if (data.runs.length < 2) return null;
  const sets = new Map<string, number[]>();
  data.runs.forEach((run, i) => {
    const key = [...new Set(run.controllers)].join(" + ") || run.label;
    sets.set(key, [...(sets.get(key) ?? []), i]);
  });
  const field = el("fieldset", { class: "picker" }, el("legend", { class: "unseen" }, "Runs shown in the plots"));
  for (const [name, runs] of sets) field.append(row(name, runs));
  const choose = (runs: Iterable<number>) => {
    state.shown = new Set(runs);
    for (const box of field.querySelectorAll("input")) box.checked = state.shown.has(Number(box.value));
    redraw();
  };
  const firsts = [...sets.values()].flatMap((runs) => runs.slice(0, 1));
  const button = (text: string, runs: () => Iterable<number>) =>
    el("button", { type: "button", class: "quiet", onclick: () => choose(runs()) }, text);
  return el(
    "section",
    { class: "box", "aria-label": "Runs shown" },
    el(
      "div",
      { class: "bar" },
      el("h2", {}, "Show"),
      button("One per controller", () => firsts),
      button("All", () => data.runs.keys()),
      button("None", () => []),
    ),
    field,
  );
}

/** The runs of one set of controllers: by their seeds, where these tell them apart. */
function row(name: string, indices: number[]): HTMLElement {
  const runs = indices.flatMap((i) => data.runs[i] ?? []);
  const seeds = new Set(runs.map((run) => run.seed));
  const several = runs.length > 1;
  const bySeed = several && seeds.size === runs.length && !seeds.has(null);
  const made = el("div", { class: "set", role: "group", "aria-label": name });
  for (const controller of new Set(runs[0]?.controllers)) made.append(narrowSwatch(controller));
  if (several) made.append(el("b", {}, name), bySeed ? el("span", { class: "word" }, "seed") : "");
  runs.forEach((run, k) => {
    const i = indices[k] ?? 0;
    const box = el("input", { type: "checkbox", value: i, "aria-label": run.label });
    box.checked = state.shown.has(i);
    box.addEventListener("change", () => {
      if (box.checked) state.shown.add(i);
      else state.shown.delete(i);
      redraw();
    });
    made.append(el("label", { title: run.name }, box, bySeed ? String(run.seed) : run.label));
  });
  return made;
}
