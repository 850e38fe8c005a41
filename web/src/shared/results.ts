/** Results of the arena as rows: what runs are filtered and sorted by serves them too. */

import { type Row, single } from "./rows";
import type { Cell, Entry, System } from "./types";

/** A result as the rows of runs are: so one filter and one order serve both. */
export interface Result {
  cell: Cell;
  system: System;
  entry: Entry;
  row: Row;
}

export function results(table: { cells: Cell[]; seeds: number[] }): Result[] {
  return table.cells.flatMap((cell, at) =>
    cell.systems.map((system, i): Result => {
      const values: Row["values"] = new Map();
      for (const [key, e] of Object.entries(system.values)) values.set(key, e);
      values.set("wins", single(cell.wins.filter((w) => w.winner === i).length));
      values.set("losses", single(cell.wins.filter((w) => w.loser === i).length));
      const metrics = Object.fromEntries([...values].map(([key, value]) => [key, value.mean]));
      const labels: [string, string][] = [
        ["cell", cell.name],
        ["system", system.name],
        ["edge", system.edge],
        ["sender", system.controller],
        ["class", cell.class],
        ["title", system.title],
      ];
      const entry: Entry = {
        path: `${cell.name}/${system.name}`,
        scenario: cell.name,
        labels,
        controllers: [system.controller],
        seed: 0,
        duration_s: 0,
        written: 0,
        scenario_hash: "",
        metrics,
      };
      // Cells stay in the order of the set.
      const name = `${String(at).padStart(3, "0")} ${system.title}`;
      const row: Row = {
        paths: [entry.path],
        name,
        labels: "",
        controllers: [system.title],
        seeds: table.seeds.length,
        written: 0,
        values,
      };
      return { cell, system, entry, row };
    }),
  );
}
