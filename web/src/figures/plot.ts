/** A plot of uPlot as SVG: it is drawn once more, on a canvas that writes elements. */

import type uPlot from "uplot";
import { escapeText, Outline, plainColour, SvgContext } from "./svg";

/** What a picture of a plot is made of. */
export interface Plot {
  title: string;
  /** The library's constructor: a report has it as a global. */
  library: typeof uPlot;
  options: uPlot.Options;
  data: uPlot.AlignedData;
  /** The plot on the page: its size, its range and which of its curves are shown. */
  shown: uPlot;
  /** The names of the curves. */
  labels: string[];
  /** Of the picture in pixels, where it is not the plot's on the page. */
  width?: number;
}

/** Colours of the page around a plot. */
export interface Paper {
  paper: string;
  ink: string;
  /** Of all text. */
  font: string;
}

/** A picture's elements and its size in pixels. */
export interface Picture {
  svg: string;
  width: number;
  height: number;
}

let pictures = 0;

/**
 * Draws `plot` in the range that is shown. Its title and the names of its curves stand above it, unless the title is empty.
 * Nothing waits: a page that is printed has no time.
 */
export function picture(plot: Plot, paper: Paper): Picture {
  const name = `cut${pictures++}`;
  const ruler = document.createElement("canvas").getContext("2d");
  const context = new SvgContext(name, ruler);
  const { shown, options } = plot;
  const across = plot.width ?? shown.width;
  const drawn = redrawn(plot, context);
  const content = context.content();
  drawn.destroy();

  if (ruler !== null) ruler.font = `12px ${paper.font}`;
  const keys = legend(plot, across, (text) => ruler?.measureText(text).width ?? 7 * text.length, paper);
  const head = plot.title === "" ? 0 : 26 + keys.height;
  const [width, height] = [across, head + options.height];
  const title = escapeText(plot.title);
  // The canvas counts in the screen's pixels.
  const ratio = devicePixelRatio;
  const box = `0 0 ${Math.round(across * ratio)} ${Math.round(options.height * ratio)}`;
  const text = `font-family:${paper.font.replaceAll('"', "'")};fill:${plainColour(paper.ink)[0]}`;
  return {
    width,
    height,
    svg:
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">` +
      `<rect width="${width}" height="${height}" style="fill:${plainColour(paper.paper)[0]}"/>` +
      (head === 0 ? "" : `<title>${title}</title><text x="10" y="18" style="${text};font-size:14px;font-weight:600">${title}</text>${keys.svg}`) +
      `<svg x="0" y="${head}" width="${across}" height="${options.height}" viewBox="${box}">${content}</svg></svg>`,
  };
}

function redrawn(plot: Plot, context: SvgContext): uPlot {
  const { shown, options } = plot;
  let done = false;
  // What reads the pointer stays with the plot on the page; what paints is wanted once.
  const painters = (list: unknown) =>
    ((list ?? []) as ((u: uPlot) => void)[]).map((paint) => (u: uPlot) => {
      if (!done) paint(u);
    });
  const series = options.series.map((line, i) => (i === 0 ? line : { ...line, show: shown.series[i]?.show ?? true }));
  const still: uPlot.Options = {
    ...options,
    width: plot.width ?? shown.width,
    series,
    cursor: { show: false },
    focus: { alpha: 1 },
    hooks: { drawClear: painters(options.hooks?.drawClear), draw: painters(options.hooks?.draw) },
  };

  const { getContext } = HTMLCanvasElement.prototype;
  const { Path2D } = window;
  try {
    HTMLCanvasElement.prototype.getContext = (() => context) as unknown as typeof getContext;
    window.Path2D = Outline as unknown as typeof Path2D;
    const u = new plot.library(still, plot.data, document.createElement("div"));
    const { min, max } = shown.scales["x"] ?? {};
    u.batch(() => {
      if (min != null && max != null) u.setScale("x", { min, max });
    });
    done = true;
    return u;
  } finally {
    HTMLCanvasElement.prototype.getContext = getContext;
    window.Path2D = Path2D;
  }
}

/** The names of the shown curves in rows, each beside a piece of its line. */
function legend(plot: Plot, room: number, measure: (text: string) => number, paper: Paper): { svg: string; height: number } {
  const LINE = 22;
  const ROW = 18;
  const parts: string[] = [];
  let [x, y] = [10, 26];
  plot.labels.forEach((label, i) => {
    if (!plot.shown.series[i + 1]?.show) return;
    const line = plot.options.series[i + 1];
    const width = LINE + 6 + measure(label) + 16;
    if (x > 10 && x + width > room) [x, y] = [10, y + ROW];
    const middle = y + 9;
    if (typeof line?.fill === "string") {
      const [colour, opacity] = plainColour(line.fill);
      parts.push(`<rect x="${x}" y="${y + 4}" width="${LINE}" height="10" style="fill:${colour};fill-opacity:${opacity}"/>`);
    }
    const [colour] = plainColour(typeof line?.stroke === "string" ? line.stroke : paper.ink);
    const dash = line?.dash?.length ? `;stroke-dasharray:${line.dash.join(" ")}` : "";
    parts.push(
      `<path d="M${x} ${middle}h${LINE}" style="fill:none;stroke:${colour};stroke-width:${(line?.width ?? 1) + 0.8}${dash}"/>`,
      `<text x="${x + LINE + 6}" y="${middle + 4}" style="font-family:${paper.font.replaceAll('"', "'")};font-size:12px;` +
        `fill:${plainColour(paper.ink)[0]}">${escapeText(label)}</text>`,
    );
    x += width;
  });
  return { svg: parts.join(""), height: parts.length > 0 ? y - 26 + ROW + 4 : 0 };
}
