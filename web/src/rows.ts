/** Rows of the table: filtered, averaged over seeds, sorted. Nothing here touches the page. */

import type { Entry } from "./types";

export interface Row {
  /** Runs behind the row: several where seeds are averaged. */
  paths: string[];
  name: string;
  labels: string;
  controllers: string[];
  seeds: number;
  written: number;
  values: Map<string, { mean: number; half: number | null }>;
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

/**
 * Mean and half width of the 95 % interval; no interval for a single value. `t95` has Student's t by degrees of freedom, from 1
 * on, as the command gives them; its last value stands for all above.
 */
export function estimate(values: number[], t95: number[]): { mean: number; half: number | null } {
  const n = values.length;
  const mean = values.reduce((a, b) => a + b, 0) / n;
  if (n < 2) return { mean, half: null };
  const variance = values.reduce((a, v) => a + (v - mean) ** 2, 0) / (n - 1);
  const t = t95[Math.min(n - 1, t95.length) - 1] ?? Number.POSITIVE_INFINITY;
  return { mean, half: t * Math.sqrt(variance / n) };
}

export function rows(entries: Entry[], t95: number[], filter: string, average: boolean): Row[] {
  const tests = parseFilter(filter);
  const kept = entries.filter((e) => tests.every((test) => test(e)));
  const groups = new Map<string, Entry[]>();
  for (const e of kept) {
    const folder = e.path.split("/").slice(0, -1).join("/");
    const key = average ? JSON.stringify([folder, e.scenario, e.controllers, e.labels]) : e.path;
    const group = groups.get(key);
    if (group) group.push(e);
    else groups.set(key, [e]);
  }
  return [...groups.values()].map((group) => {
    const first = group[0] as Entry;
    const keys = new Set(group.flatMap((e) => Object.keys(e.metrics)));
    const values: Row["values"] = new Map();
    for (const key of keys) {
      values.set(key, estimate(group.flatMap((e) => e.metrics[key] ?? []), t95));
    }
    return {
      paths: group.map((e) => e.path),
      name: group.length > 1 ? first.path.replace(/-?seed-\d+$/, "") : first.path,
      labels: first.labels.map(([, value]) => value).join(", "),
      controllers: first.controllers,
      seeds: group.length,
      written: Math.max(...group.map((e) => e.written)),
      values,
    };
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
