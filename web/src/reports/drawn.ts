/** A figure that is SVG on the page already. */

import { buttons } from "../figures";
import { type Value, saveCsv } from "../shared/csv";
import { el } from "../shared/dom";

/** Buttons that save what `host` shows. */
export const savesOf = (title: string, node: HTMLElement, host: HTMLElement): HTMLElement =>
  el("span", { class: "saves" }, ...buttons({ title, node, drawn: () => host.querySelector("svg") }));

export interface Drawn {
  title: string;
  /** What is said of the file of numbers, where the title does not tell it apart. */
  csvLabel?: string;
  help: string;
  file: string;
  rows: () => Value[][];
  /** The least width in pixels. */
  least: number;
  paint: (width: number) => SVGSVGElement;
}

/** A figure, and what draws it once it is on the page: anew at each width. */
export function drawn(of: Drawn): { node: HTMLElement; start: () => void } {
  const host = el("div", { class: "plot" });
  const bar = el("div", { class: "bar" }, el("h3", {}, of.title));
  const node = el(
    "figure",
    { class: "box", style: "margin-left:0;margin-right:0" },
    el("figcaption", {}, bar, of.help === "" ? null : el("p", { class: "help" }, of.help)),
    host,
  );
  bar.append(
    savesOf(of.title, node, host),
    el(
      "button",
      {
        type: "button",
        class: "quiet",
        "aria-label": of.csvLabel ?? `Download ${of.title} as CSV`,
        onclick: () => saveCsv(of.file, of.rows()),
      },
      "CSV",
    ),
  );
  return {
    node,
    start() {
      let width = 0;
      const show = () => {
        if (!host.isConnected || host.clientWidth === width) return;
        width = host.clientWidth;
        host.replaceChildren(of.paint(Math.max(of.least, width)));
      };
      show();
      new ResizeObserver(show).observe(host);
    },
  };
}
