/** A button that is on or off, and draws the page anew. */

import { el } from "../shared/dom";
import { redraw } from "./page";

/** On where `set` has `id`. The focus stays, though the button is made anew: one of the same name has it then. */
export function toggle(set: Set<string>, id: string, text: string): HTMLButtonElement {
  const on = set.has(id);
  const name = `${text}|${id}`;
  const act = () => {
    if (on) set.delete(id);
    else set.add(id);
    redraw();
    const again = [...document.querySelectorAll<HTMLElement>("[data-toggle]")].find((other) => other.dataset["toggle"] === name);
    again?.focus({ preventScroll: true });
  };
  return el("button", { type: "button", class: "quiet", "aria-pressed": String(on), "data-toggle": name, onclick: act }, text);
}
