/** The command behind a number, at the foot of the window. */

import { el } from "../../shared/dom";
import type { Cell, System } from "../../shared/types";
import { announce } from "../page";
import { data } from "./state";

const lead = el("div", { id: "lead", hidden: true, role: "region", "aria-label": "The run behind the number" });
document.body.append(lead);

const button = (text: string, onclick: () => void, label?: string) =>
  el("button", { type: "button", class: "quiet", "aria-label": label, onclick }, text);

export function show(cell: Cell, system: System): void {
  const title = `${system.title} in ${cell.name}`;
  // A page without a secure origin has no clipboard.
  const clipboard = navigator.clipboard as Clipboard | undefined;
  const copy = button("Copy", () => {
    void clipboard?.writeText(system.command).then(() => {
      copy.textContent = "Copied";
    });
  });
  const report = data.records ? el("a", { href: `runs/${cell.name}/${system.name}/report.html` }, "Report") : "";
  const close = button("×", () => (lead.hidden = true), "Close");
  lead.replaceChildren(el("strong", {}, title), el("code", { tabindex: 0 }, system.command), copy, report, close);
  lead.hidden = false;
  announce(`${title}: ${system.command}`);
}
