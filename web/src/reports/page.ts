/** The page that a script draws: what was embedded in it, and what is on it now. */

import type uPlot from "uplot";
import type { Plot } from "../figures";
import { onPaper } from "../figures";
import { hue, themeButton } from "../shared/colours";
import { byId } from "../shared/dom";
import type { Paint, Palette } from "./data";

const embedded: unknown = JSON.parse(byId("data").textContent ?? "");

/** The page's data, as the Rust side of this kind of page writes them. */
export const dataOf = <T>(): T => embedded as T;

const palette = dataOf<Palette>();

export const paintOf = (controller: string): Paint => palette.controllers[controller] ?? palette.link;
export const link = (): Paint => palette.link;
export const stateHue = (name: string): string => hue(palette.states[name] ?? palette.link);

/** For those who listen. */
export function announce(text: string): void {
  byId("say").textContent = text;
}

/** A plot on the page: where it stands, and what a picture of it is made of. */
interface Sheet {
  host: HTMLElement;
  plot: () => Plot;
}

/** The plots of uPlot that are on the page. */
export const sheets = new Map<uPlot, Sheet>();

/** Those over time: they are zoomed and read together. */
export const timed: uPlot[] = [];

/** Curves that the reader has switched, by their keys: drawn or not. */
export const switched = new Map<string, boolean>();

export const isShown = (key: string): boolean => switched.get(key) ?? true;

/** Takes all plots away. */
export function clear(): void {
  for (const plot of sheets.keys()) plot.destroy();
  sheets.clear();
  timed.length = 0;
}

let paint = () => {};

/** Draws the page anew, and stays where the reader was. */
export function redraw(): void {
  const { scrollY } = window;
  paint();
  window.scrollTo({ top: scrollY, behavior: "instant" });
}

/** Sets up the button for the colours, and paper. `draw` draws everything whose colours no style sheet reaches. */
export function drawnBy(draw: () => void): void {
  paint = draw;
  onPaper(() => [...sheets.values()].map(({ host, plot }) => ({ host, plot: plot() })), redraw);
  themeButton(byId<HTMLButtonElement>("theme"), redraw);
}
