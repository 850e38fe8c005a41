/** Heads of columns, which sort their table. */

import { el } from "../shared/dom";
import type { Order } from "../shared/rows";

export interface Column {
  key: string;
  name: string;
  unit: string;
  help: string;
  /** Its cells are text, so that the first order goes up. */
  words: boolean;
}

/** The head of a column of `table`, which stands in this order; `sort` draws the table in another. */
export function heading(table: HTMLTableElement, column: Column, order: Order, sort: (order: Order) => void): HTMLTableCellElement {
  const { key, name, unit, help, words } = column;
  const chosen = order.key === key;
  const sorted = chosen ? (order.down ? "descending" : "ascending") : null;
  const click = () => {
    sort({ key, down: chosen ? !order.down : !words });
    table.querySelector<HTMLButtonElement>(`thead button[data-key="${key}"]`)?.focus();
  };
  return el(
    "th",
    { scope: "col", class: words ? "words" : null, "aria-sort": sorted },
    el(
      "button",
      { type: "button", title: help, "data-key": key, onclick: click },
      el("span", { class: "name" }, name),
      el("span", { class: "unit" }, unit),
    ),
  );
}
