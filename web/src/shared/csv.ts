/** Tables as files. */

import { save } from "../figures";

export type Value = string | number | null | undefined;

/** A spreadsheet must not take a name for a formula. */
function cell(value: Value): string {
  if (value == null) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export const csv = (rows: Value[][]): string => `${rows.map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;

export const saveCsv = (name: string, rows: Value[][]): void => save(name, new Blob([csv(rows)], { type: "text/csv" }));
