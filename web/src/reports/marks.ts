/** The shapes of points: controllers differ by shape too, for those who see few colours. */

import { css } from "../shared/colours";
import { shape } from "../shared/dom";
import type { Shape } from "./data";

/** A third of an arm of the cross. */
const T = 0.36;

const STAR = Array.from({ length: 10 }, (_, i): [number, number] => {
  const r = i % 2 ? 0.58 : 1.4;
  return [r * Math.sin((i * Math.PI) / 5), -r * Math.cos((i * Math.PI) / 5)];
});

/** Corners, in parts of the size. */
const CORNERS: Record<Exclude<Shape, "circle" | "cross">, [number, number][]> = {
  square: [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
  up: [[0, -1.15], [1.1, 0.85], [-1.1, 0.85]],
  down: [[0, 1.15], [1.1, -0.85], [-1.1, -0.85]],
  diamond: [[0, -1.25], [1.1, 0], [0, 1.25], [-1.1, 0]],
  plus: [[-T, -1.15], [T, -1.15], [T, -T], [1.15, -T], [1.15, T], [T, T], [T, 1.15], [-T, 1.15], [-T, T], [-1.15, T], [-1.15, -T], [-T, -T]],
  star: STAR,
};

export function mark(kind: Shape, x: number, y: number, size: number, color: string, hollow = false): SVGElement {
  const look = hollow
    ? { fill: css("--paper"), stroke: color, "stroke-width": 2 }
    : { fill: color, stroke: css("--paper"), "stroke-width": 1.2 };
  if (kind === "circle") return shape("circle", { ...look, cx: x, cy: y, r: size });
  if (kind === "cross") {
    const node = mark("plus", x, y, size, color, hollow);
    node.setAttribute("transform", `rotate(45 ${x} ${y})`);
    return node;
  }
  return shape("polygon", { ...look, points: CORNERS[kind].map(([a, b]) => `${x + a * size},${y + b * size}`).join(" ") });
}
