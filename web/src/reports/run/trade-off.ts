/** Throughput against delay, a point for each controller. */

import type { Trade } from "../data";
import { drawn } from "../drawn";
import { withUnit } from "../../shared/format";
import { scatter } from "../scatter";

export function tradeOff(trade: Trade | null): { node: HTMLElement; start: () => void } | null {
  if (trade === null || trade.points.length === 0) return null;
  const x = withUnit(trade.x_label, trade.x_unit);
  const y = withUnit(trade.y_label, trade.y_unit);
  return drawn({
    title: `${trade.y_label} against ${trade.x_label}`,
    csvLabel: "Download the trade-off as CSV",
    help: "Means with 95 % intervals; faint dots are single seeds. Dotted: no controller here is better in both.",
    file: "trade-off.csv",
    rows: () => [
      ["label", "controller", x, `${x} low 95 %`, `${x} high 95 %`, y, `${y} low 95 %`, `${y} high 95 %`],
      ...trade.points.map((p) => [p.label, p.controller, ...p.x, ...p.y]),
    ],
    least: 280,
    paint: (width) => scatter(trade, width, 340),
  });
}
