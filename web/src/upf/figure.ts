/** A small picture of values over the last minutes. */

import { el, shape } from "../shared/dom";

/** Values that are kept: five minutes, one a second. */
export const POINTS = 300;

export interface Line {
  name: string;
  values: (number | null)[];
}

export function figure(title: string, unit: string, lines: Line[]): HTMLElement {
  const all = lines.flatMap((line) => line.values).filter((v) => v !== null);
  const top = Math.max(1e-3, ...all) * 1.05;
  const caption = el("figcaption", {}, `${title}, up to ${top.toPrecision(2)} ${unit}: `);
  const svg = shape("svg", { viewBox: `0 0 ${POINTS - 1} 100`, preserveAspectRatio: "none" });
  lines.forEach((line, k) => {
    caption.append(el("span", { class: `c${k}` }, `${line.name} `));
    const from = POINTS - line.values.length;
    const points = line.values.flatMap((v, x) => (v === null ? [] : [`${from + x},${100 - (100 * v) / top}`]));
    svg.append(shape("polyline", { points: points.join(" "), class: `c${k}` }));
  });
  return el("figure", {}, caption, svg);
}
