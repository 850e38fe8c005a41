/** Curves of a paper's panel. */

import { ascending, column } from "../columns";
import { byRole, type Curve } from "../curves";
import type { PaperCurve } from "../data";
import { isShown, paintOf } from "../page";

export interface PanelCurve extends Curve {
  stats: PaperCurve["stats"];
}

export function curvesOf(id: string, list: PaperCurve[]): PanelCurve[] {
  const counts = new Map<string, number>();
  let areas = 0;
  const curves = list.map((curve, i): PanelCurve => {
    // Variants of a controller share its hue, so they are counted together.
    const family = paintOf(curve.controller).light;
    const place = counts.get(family) ?? 0;
    if (curve.role === "main") counts.set(family, place + 1);
    const key = `${id}|${i}`;
    return {
      key,
      role: curve.role,
      label: curve.label,
      controller: curve.controller,
      place: curve.role === "side" ? Math.max(0, place - 1) : place,
      first: curve.role === "area" && areas++ === 0,
      x: ascending(curve.x),
      y: column(curve.y),
      stats: curve.stats,
      show: isShown(key),
    };
  });
  return curves.sort(byRole);
}
