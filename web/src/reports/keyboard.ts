/** A plot by keyboard: arrows read values, plus and minus zoom. */

import type uPlot from "uplot";
import { fmt } from "../shared/format";
import type { Curve } from "./curves";
import { announce, timed } from "./page";

interface Read {
  time?: boolean;
  xName: string;
  xUnit: string;
  unit: string;
  curves: Curve[];
  range: () => [number, number];
}

/** How long a reader must have stopped before the values are announced, in milliseconds. */
const PAUSE = 250;

export function keyboard(host: HTMLElement, u: uPlot, spec: Read): void {
  const group = () => (spec.time ? timed : [u]);
  const shown = (): [min: number, max: number] => [u.scales["x"]?.min ?? 0, u.scales["x"]?.max ?? 1];
  let waiting: ReturnType<typeof setTimeout> | undefined;

  const x = () => {
    const [min, max] = shown();
    const left = u.cursor.left ?? -1;
    return left < 0 ? (min + max) / 2 : u.posToVal(left, "x");
  };

  const read = (at: number) => {
    const values = spec.curves.flatMap((curve, i) => {
      const index = u.cursor.idxs?.[i + 1];
      return u.series[i + 1]?.show && index != null ? [`${curve.label} ${fmt(u.data[i + 1]?.[index])} ${spec.unit}`] : [];
    });
    announce(`${spec.xName} ${fmt(at)} ${spec.xUnit}: ${values.join("; ")}`);
  };

  const point = (value: number) => {
    const [min, max] = shown();
    const to = Math.min(max, Math.max(min, value));
    for (const plot of group()) plot.setCursor({ left: plot.valToPos(to, "x"), top: plot.over.clientHeight / 2 });
    clearTimeout(waiting);
    waiting = setTimeout(() => read(to), PAUSE);
  };

  const show = (min: number, max: number) => {
    for (const plot of group()) plot.setScale("x", { min, max });
  };

  const zoom = (factor: number) => {
    const [min, max] = shown();
    const [low, high] = spec.range();
    const at = x();
    show(Math.max(low, at - (at - min) * factor), Math.min(high, at + (max - at) * factor));
  };

  const step = (event: KeyboardEvent) => {
    const [min, max] = shown();
    return ((max - min) / 200) * (event.shiftKey ? 10 : 1);
  };

  const keys: Record<string, (event: KeyboardEvent) => void> = {
    ArrowLeft: (event) => point(x() - step(event)),
    ArrowRight: (event) => point(x() + step(event)),
    Home: () => point(shown()[0]),
    End: () => point(shown()[1]),
    "+": () => zoom(0.6),
    "=": () => zoom(0.6),
    "-": () => zoom(1 / 0.6),
    "0": () => show(...spec.range()),
  };
  host.addEventListener("keydown", (event) => {
    const act = keys[event.key];
    if (act === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act(event);
  });
}
