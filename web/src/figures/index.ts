/** Figures as files: SVG that needs no style sheet, PNG of twice its size, and paper. */

import { copy } from "./drawn";
import { type Paper, type Picture, picture, type Plot } from "./plot";

export type { Plot } from "./plot";

/** A figure of a page: a plot of uPlot, or SVG that stands there. */
export type Figure = { title: string; node: HTMLElement } & ({ plot: () => Plot } | { drawn: () => SVGSVGElement | null });

/** A4 between its margins has so many pixels at 96 an inch: text is as large on paper as on the screen. */
const SHEET = 700;

/** A PNG has so many pixels for one of the page. */
const FINER = 2;

/** The colours of the page as they are now. */
function paper(): Paper {
  const probe = document.createElement("span");
  document.body.append(probe);
  const colour = (name: string) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const found = { paper: colour("--paper"), ink: colour("--ink"), font: getComputedStyle(document.body).fontFamily };
  probe.remove();
  return found;
}

export function pictureOf(figure: Figure): Picture | null {
  if ("plot" in figure) return picture(figure.plot(), paper());
  const svg = figure.drawn();
  return svg === null ? null : copy(svg, figure.title, paper());
}

export const fileName = (title: string, ending: string) =>
  `${title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "plot"}.${ending}`;

export function save(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function saveSvg(figure: Figure): void {
  const made = pictureOf(figure);
  if (made !== null) save(fileName(figure.title, "svg"), new Blob([made.svg], { type: "image/svg+xml" }));
}

export async function savePng(figure: Figure): Promise<void> {
  const made = pictureOf(figure);
  if (made === null) return;
  const image = new Image();
  image.setAttribute("src", `data:image/svg+xml;charset=utf-8,${encodeURIComponent(made.svg)}`);
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(made.width * FINER);
  canvas.height = Math.round(made.height * FINER);
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  const content = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (content !== null) save(fileName(figure.title, "png"), content);
}

/** Prints one figure alone: a browser saves that as PDF, with lines and text as such. */
export function printAlone(figure: Figure): void {
  const root = document.documentElement;
  // By its place: figures are drawn anew for paper.
  root.dataset["alone"] = String([...document.querySelectorAll("figure")].indexOf(figure.node));
  window.addEventListener("afterprint", () => delete root.dataset["alone"], { once: true });
  window.print();
}

/** The buttons of a figure. */
export function buttons(figure: Figure): HTMLButtonElement[] {
  const button = (text: string, does: string, act: () => void) => {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "quiet";
    made.textContent = text;
    made.setAttribute("aria-label", `${does} ${figure.title} as ${text}`);
    made.addEventListener("click", act);
    return made;
  };
  return [
    button("SVG", "Download", () => saveSvg(figure)),
    button("PNG", "Download", () => void savePng(figure)),
    button("PDF", "Print", () => printAlone(figure)),
  ];
}

/**
 * On paper each plot is SVG, in light colours: a canvas has the width of the window that it was drawn in. Folded rows are open there.
 *
 * `list` gives the plots on the page; `draw` draws all of them once more, after a change of the theme.
 */
export function onPaper(list: () => { host: HTMLElement; plot: Plot }[], draw: () => void): void {
  const root = document.documentElement;
  let before: string | undefined;
  let printing = false;
  const opened: HTMLDetailsElement[] = [];
  window.addEventListener("beforeprint", () => {
    if (printing) return;
    printing = true;
    before = root.dataset["theme"];
    root.dataset["theme"] = "light";
    for (const rows of document.querySelectorAll<HTMLDetailsElement>("details.rows:not([open])")) {
      rows.open = true;
      opened.push(rows);
    }
    draw();
    if (root.dataset["alone"] !== undefined) {
      document.querySelectorAll("figure")[Number(root.dataset["alone"])]?.toggleAttribute("data-alone", true);
    }
    const colours = paper();
    for (const { host, plot } of list()) {
      const sheet = document.createElement("div");
      sheet.className = "on-paper";
      sheet.innerHTML = picture({ ...plot, title: "", width: Math.min(plot.shown.width, SHEET) }, colours).svg;
      host.append(sheet);
    }
  });
  window.addEventListener("afterprint", () => {
    printing = false;
    for (const rows of opened.splice(0)) rows.open = false;
    if (before === undefined) delete root.dataset["theme"];
    else root.dataset["theme"] = before;
    draw();
  });
}
