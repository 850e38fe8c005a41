/** Rows of the table: filtered, one a run or one a group of seeds, sorted. Nothing here touches the page, and nothing is computed. */

import { sides } from "./format";
import type { Difference, Entry, Estimate, Group } from "./types";

export interface Row {
  /** Runs behind the row: several where seeds are averaged. */
  paths: string[];
  name: string;
  labels: string;
  controllers: string[];
  seeds: number;
  written: number;
  values: Map<string, Estimate>;
}

type Test = (e: Entry) => boolean;

/** Tests that all must hold: words, and `key=value`, `key>number`, `key<number`. */
export function parseFilter(text: string): Test[] {
  return text
    .split(/\s+/)
    .filter((word) => word !== "")
    .map((word): Test => {
      const match = /^([^=<>]+)([=<>])(.+)$/.exec(word);
      if (match === null) {
        const wanted = word.toLowerCase();
        return (e) => haystack(e).includes(wanted);
      }
      const [, key = "", operator = "=", value = ""] = match;
      const number = Number(value);
      return (e) => {
        const found = lookup(e, key);
        if (found === undefined) return false;
        if (operator === "=") {
          return typeof found === "number" ? found === number : found.toLowerCase() === value.toLowerCase();
        }
        if (typeof found !== "number" || Number.isNaN(number)) return false;
        return operator === ">" ? found > number : found < number;
      };
    });
}

function haystack(e: Entry): string {
  return [e.path, e.scenario, ...e.controllers, ...e.labels.flat()].join(" ").toLowerCase();
}

function lookup(e: Entry, key: string): number | string | undefined {
  if (key === "seed") return e.seed;
  if (key === "scenario") return e.scenario;
  if (key === "controller") return e.controllers.join("+");
  return e.metrics[key] ?? e.labels.find(([k]) => k === key || k.endsWith(`.${key}`))?.[1];
}

/** A value without an interval. */
export const single = (mean: number): Estimate => ({ mean, interval: null, n: 1 });

/** What stands behind a mean. */
export function spread(e: Estimate, decimals: number): string {
  return sides(e.mean, e.interval?.low, e.interval?.high, (value) => value.toFixed(decimals));
}

/** A difference with its sign and interval; a star where it stands. */
export function signed(d: Difference, decimals: number): string {
  const text = d.mean.toFixed(decimals);
  return `${d.mean > 0 ? "+" : ""}${text}${spread(d, decimals)}${d.stands ? " *" : ""}`;
}

function ofRun(e: Entry): Row {
  return {
    paths: [e.path],
    name: e.path,
    labels: e.labels.map(([, value]) => value).join(", "),
    controllers: e.controllers,
    seeds: 1,
    written: e.written,
    values: new Map(Object.entries(e.metrics).map(([key, mean]) => [key, single(mean)])),
  };
}

/** Each run, or each group of runs that differ by their seeds alone: then conditions on numbers hold of the means. */
export function rows(entries: Entry[], groups: Group[], filter: string, average: boolean): Row[] {
  const tests = parseFilter(filter);
  const kept = (e: Entry) => tests.every((test) => test(e));
  if (!average) return entries.filter(kept).map(ofRun);
  const byPath = new Map(entries.map((e) => [e.path, e]));
  return groups.flatMap((group): Row[] => {
    const members = group.paths.flatMap((path) => byPath.get(path) ?? []);
    const first = members[0];
    if (first === undefined) return [];
    const metrics = Object.fromEntries(Object.entries(group.values).map(([key, e]) => [key, e.mean]));
    // A seed is that of any of its runs.
    if (!members.some((e) => kept({ ...first, path: e.path, seed: e.seed, metrics }))) return [];
    return [
      {
        ...ofRun(first),
        paths: group.paths,
        name: members.length > 1 ? first.path.replace(/-?seed-\d+$/, "") : first.path,
        seeds: members.length,
        written: group.written,
        values: new Map(Object.entries(group.values)),
      },
    ];
  });
}

export interface Order {
  key: string;
  down: boolean;
}

/** Rows without a value come last whichever way the others are sorted. */
export function sorted(all: Row[], order: Order): Row[] {
  const words = (r: Row): string | undefined =>
    order.key === "name" ? r.name : order.key === "controllers" ? r.controllers.join("+") : undefined;
  const number = (r: Row): number | undefined =>
    order.key === "written" ? r.written : r.values.get(order.key)?.mean;
  const sign = order.down ? -1 : 1;
  return [...all].sort((a, b) => {
    const [wa, wb] = [words(a), words(b)];
    if (wa !== undefined && wb !== undefined) {
      return sign * wa.localeCompare(wb, "en", { numeric: true });
    }
    const [na, nb] = [number(a), number(b)];
    if (na === undefined || nb === undefined) {
      return (na === undefined ? 1 : 0) - (nb === undefined ? 1 : 0);
    }
    return sign * (na - nb);
  });
}
