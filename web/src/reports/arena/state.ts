/** The arena's data, and what the reader has chosen on its page. */

import { fixed, sides, withUnit } from "../../shared/format";
import type { Value } from "../../shared/csv";
import type { Cell, Estimate as Mean, Metric, System } from "../../shared/types";
import type { ArenaPage, Estimate } from "../data";
import { dataOf } from "../page";

export const data = dataOf<ArenaPage>();
export const { cells } = data.table;
export const measures = new Map(data.measures.map((m) => [m.key, m]));

export const state = {
  /** Measure of the heat table. */
  heat: "goodput",
  filter: "",
  order: { key: "cell", up: true },
  /** Fronts have a logarithmic axis where values differ much. */
  log: true,
};

/** Names of the classes, in the page's order. */
export const CLASSES: Record<string, string> = { sender: "Senders", vr: "VR", media: "Media" };

export const triple = (e: Mean): Estimate => [e.mean, e.interval?.low ?? null, e.interval?.high ?? null];

/** What stands behind a mean of the measure. */
export const sidesOf = (e: Mean, m: Metric): string => sides(...triple(e), (v) => fixed(v, m.decimals));

/** Some system of these cells has a value. */
export const measured = (some: Cell[], m: Metric): boolean => some.some((c) => c.systems.some((s) => s.values[m.key] !== undefined));

/** The results of a cell as a file has them. */
export function csvOf(cell: Cell): Value[][] {
  const keys = data.measures.filter((m) => measured([cell], m));
  const values = (s: System, m: Metric): Value[] => {
    const value = s.values[m.key];
    return value === undefined ? [null, null, null] : triple(value);
  };
  return [
    ["cell", "system", "edge", ...keys.flatMap((m) => [withUnit(m.label, m.unit), `${m.label} low 95 %`, `${m.label} high 95 %`])],
    ...cell.systems.map((s) => [cell.name, s.name, s.edge, ...keys.flatMap((m) => values(s, m))]),
  ];
}
