/** Tables that stand in the page: to sort, and to save as CSV. */

import { type Value, saveCsv } from "../shared/csv";
import { el } from "../shared/dom";
import { withUnit } from "../shared/format";

export function tables(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>("[data-csv-table]")) {
    const table = document.getElementById(`data-table${button.dataset["csvTable"]}`) as HTMLTableElement;
    button.hidden = false;
    button.setAttribute("aria-label", "Download this table as CSV");
    button.addEventListener("click", () => saveCsv("summary.csv", rowsOf(table)));
  }
  for (const table of document.querySelectorAll<HTMLTableElement>("table.summary")) {
    headings(table).forEach((cell, at) => sortable(table, cell, at));
  }
}

const headings = (table: HTMLTableElement): HTMLTableCellElement[] => [...(table.tHead?.rows[0]?.cells ?? [])];
const bodyRows = (table: HTMLTableElement): HTMLTableRowElement[] => [...(table.tBodies[0]?.rows ?? [])];

const numberOf = (text: string | undefined): number | null => (text === undefined ? null : Number(text));

function rowsOf(table: HTMLTableElement): Value[][] {
  const heads = headings(table).flatMap((cell) => {
    const name = (cell.querySelector(".name") ?? cell).textContent ?? "";
    const title = withUnit(name, cell.dataset["unit"]);
    return cell.dataset["sort"] === "number" ? [title, `${title} low 95 %`, `${title} high 95 %`] : [title];
  });
  const body = bodyRows(table).map((row) =>
    [...row.cells].flatMap((cell, i): Value[] => {
      if (i === 0) return [cell.textContent];
      const { v, l, u } = cell.dataset;
      if (v === undefined) return [cell.classList.contains("none") ? null : cell.textContent, null, null];
      return [v, l, u].map(numberOf);
    }),
  );
  return [heads, ...body];
}

function sortable(table: HTMLTableElement, cell: HTMLTableCellElement, at: number): void {
  const button = el("button", { type: "button" });
  button.append(...cell.childNodes);
  cell.append(button);
  const value = (row: HTMLTableRowElement) => numberOf(row.cells[at]?.dataset["v"]);
  const words = (row: HTMLTableRowElement) => row.cells[at]?.textContent ?? "";
  button.addEventListener("click", () => {
    const up = cell.getAttribute("aria-sort") !== "ascending";
    for (const other of headings(table)) other.removeAttribute("aria-sort");
    cell.setAttribute("aria-sort", up ? "ascending" : "descending");
    const rows = bodyRows(table).sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === null && y === null) {
        const order = words(a).localeCompare(words(b), "en", { numeric: true });
        return up ? order : -order;
      }
      if (x === null || y === null) return x === null ? 1 : -1;
      return up ? x - y : y - x;
    });
    table.tBodies[0]?.append(...rows);
  });
}
