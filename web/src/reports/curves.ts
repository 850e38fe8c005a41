/** How curves look: a controller has one colour, and its second flow another shade and dash. */

import uPlot from "uplot";
import { dark, hue, mix, swatch } from "../shared/colours";
import type { Role } from "./data";
import { link, paintOf } from "./page";

/** A curve of a plot. */
export interface Curve {
  /** By which the reader's choice is kept. */
  key: string;
  label: string;
  controller: string;
  role: Role;
  /** Which of the curves of its controller it is. */
  place: number;
  /** The first of several areas is filled. */
  first?: boolean;
  show: boolean;
  x: number[];
  y: (number | null)[];
}

const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];

/** The n-th flow or run of one controller: same hue, other shade and dash. */
function style(controller: string, n: number): { stroke: string; dash: number[] } {
  const base = hue(paintOf(controller));
  const shades = [base, mix(base, dark() ? "#14181d" : "#ffffff", 0.36), mix(base, dark() ? "#ffffff" : "#000000", 0.4)];
  return { stroke: shades[n % 3] ?? base, dash: DASHES[n % 4] ?? [] };
}

/** A line that stays at its value until the next. */
export function stepped(): Pick<uPlot.Series, "paths"> {
  const { stepped: paths } = uPlot.paths;
  return paths === undefined ? {} : { paths: paths({ align: 1 }) };
}

export function lineOf(curve: Curve): uPlot.Series {
  const common: uPlot.Series = { label: curve.label, show: curve.show, points: { show: false }, pxAlign: 0 };
  if (curve.role === "area") {
    const grey = hue(link());
    return { ...common, stroke: grey, width: 1, ...(curve.first ? { fill: `${grey}2e` } : {}), ...stepped() };
  }
  const look = style(curve.controller, curve.place);
  const thin = curve.role === "side";
  return {
    ...common,
    stroke: look.stroke,
    width: thin ? 1 : 1.6,
    dash: thin ? [2, 3] : look.dash,
    alpha: thin ? 0.85 : 1,
    // A line through one or two points would not be seen.
    points: { show: curve.x.length < 3, size: 5 },
  };
}

const ORDER: Role[] = ["area", "main", "side"];

/** Areas lie behind the others, and side curves before them. */
export const byRole = (a: { role: Role }, b: { role: Role }): number => ORDER.indexOf(a.role) - ORDER.indexOf(b.role);

/** The piece of colour of a controller, without room beside it. */
export function narrowSwatch(controller: string): HTMLSpanElement {
  const made = swatch(paintOf(controller));
  made.style.margin = "0";
  return made;
}
