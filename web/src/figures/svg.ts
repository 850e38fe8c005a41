/**
 * A canvas that writes SVG: what a plot draws on it becomes elements.
 *
 * It has the part of `CanvasRenderingContext2D` that uPlot and the hooks of our plots use.
 */

/** `rgb(1 2 3 / 0.5)`, `rgba(1, 2, 3, 0.5)` and `#rrggbbaa` as a colour that every reader of SVG knows, and its opacity. */
export function plainColour(paint: string): [colour: string, opacity: number] {
  const long = /^#([0-9a-f]{6})([0-9a-f]{2})$/i.exec(paint);
  if (long !== null) return [`#${long[1]}`, parseInt(long[2] ?? "ff", 16) / 255];
  const parts = /^rgba?\(([^)]*)\)$/.exec(paint)?.[1]?.split(/[\s,/]+/).filter((part) => part !== "");
  if (parts === undefined) return [paint, 1];
  const hex = parts.slice(0, 3).map((part) => Math.round(Number(part)).toString(16).padStart(2, "0"));
  const alpha = parts[3] ?? "1";
  return [`#${hex.join("")}`, alpha.endsWith("%") ? parseFloat(alpha) / 100 : Number(alpha)];
}

export function escapeText(text: string): string {
  return text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c] ?? c);
}

/** Two places after the point: a hundredth of a pixel. */
const short = (value: number) => String(Math.round(value * 100) / 100);

/** `Path2D`, whose outline can be read. */
export class Outline {
  d: string;

  constructor(from?: Outline | string) {
    this.d = from instanceof Outline ? from.d : (from ?? "");
  }

  moveTo(x: number, y: number): void {
    this.d += `M${short(x)} ${short(y)}`;
  }

  /** The first line of an outline begins where it ends. */
  lineTo(x: number, y: number): void {
    this.d += `${this.d === "" ? "M" : "L"}${short(x)} ${short(y)}`;
  }

  bezierCurveTo(a: number, b: number, c: number, d: number, x: number, y: number): void {
    this.d += `C${[a, b, c, d, x, y].map(short).join(" ")}`;
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.d += `M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}Z`;
  }

  /** Whole circles alone, the marks of points: two halves. */
  arc(x: number, y: number, radius: number): void {
    const r = short(radius);
    this.d += `M${short(x + radius)} ${short(y)}A${r} ${r} 0 1 1 ${short(x - radius)} ${short(y)}A${r} ${r} 0 1 1 ${short(x + radius)} ${short(y)}Z`;
  }

  closePath(): void {
    this.d += "Z";
  }

  addPath(other: Outline): void {
    this.d += other.d;
  }
}

/** As in `matrix(a b c d e f)`. */
type Matrix = [a: number, b: number, c: number, d: number, e: number, f: number];

interface State {
  strokeStyle: string;
  fillStyle: string;
  lineWidth: number;
  lineJoin: string;
  lineCap: string;
  globalAlpha: number;
  font: string;
  textAlign: string;
  textBaseline: string;
  dash: number[];
  /** What later shapes are moved and turned by. */
  matrix: Matrix;
  /** The names of the outlines that later shapes are cut to. */
  clips: string[];
}

/** How far below a text's position its base line lies, in parts of the font's size. */
const BASELINE: Record<string, number> = { top: 0.8, hanging: 0.8, middle: 0.35, bottom: -0.2 };
const ANCHOR: Record<string, string> = { center: "middle", right: "end", end: "end" };

export class SvgContext {
  strokeStyle = "#000000";
  fillStyle = "#000000";
  lineWidth = 1;
  lineJoin = "miter";
  lineCap = "butt";
  globalAlpha = 1;
  font = "10px sans-serif";
  textAlign = "start";
  textBaseline = "alphabetic";
  private dash: number[] = [];
  private matrix: Matrix = [1, 0, 0, 1, 0, 0];
  private clips: string[] = [];
  private readonly kept: State[] = [];
  private path = new Outline();
  private readonly defs: string[] = [];
  private readonly body: string[] = [];
  /** The clips of the group that is open at the end of `body`. */
  private open: string[] = [];

  /** `name` begins each id, so that several pictures fit in one page; `ruler` measures text. */
  constructor(
    private readonly name: string,
    private readonly ruler: CanvasRenderingContext2D | null,
  ) {}

  /** Everything that was drawn. */
  content(): string {
    const close = "</g>".repeat(this.open.length);
    return `<defs>${this.defs.join("")}</defs>${this.body.join("")}${close}`;
  }

  save(): void {
    const { strokeStyle, fillStyle, lineWidth, lineJoin, lineCap, globalAlpha, font, textAlign, textBaseline } = this;
    const { dash, matrix, clips } = this;
    this.kept.push({
      strokeStyle, fillStyle, lineWidth, lineJoin, lineCap, globalAlpha, font, textAlign, textBaseline, dash, matrix, clips,
    });
  }

  restore(): void {
    const state = this.kept.pop();
    if (state !== undefined) Object.assign(this, state);
  }

  translate(x: number, y: number): void {
    const [a, b, c, d, e, f] = this.matrix;
    this.matrix = [a, b, c, d, e + a * x + c * y, f + b * x + d * y];
  }

  rotate(angle: number): void {
    const [a, b, c, d, e, f] = this.matrix;
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    this.matrix = [a * cos + c * sin, b * cos + d * sin, c * cos - a * sin, d * cos - b * sin, e, f];
  }

  setLineDash(dash: number[]): void {
    this.dash = [...dash];
  }

  beginPath(): void {
    this.path = new Outline();
  }

  moveTo(x: number, y: number): void {
    this.path.moveTo(x, y);
  }

  lineTo(x: number, y: number): void {
    this.path.lineTo(x, y);
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.path.rect(x, y, width, height);
  }

  arc(x: number, y: number, radius: number): void {
    this.path.arc(x, y, radius);
  }

  closePath(): void {
    this.path.closePath();
  }

  clip(path: Outline = this.path): void {
    const id = `${this.name}-${this.defs.length}`;
    this.defs.push(`<clipPath id="${id}"><path d="${path.d}"${this.moved()}/></clipPath>`);
    this.clips = [...this.clips, id];
  }

  stroke(path: Outline = this.path): void {
    if (path.d === undefined || path.d === "") return;
    const [colour, opacity] = plainColour(this.strokeStyle);
    const dash = this.dash.length > 0 ? `;stroke-dasharray:${this.dash.map(short).join(" ")}` : "";
    this.add(
      `<path d="${path.d}" style="fill:none;stroke:${colour};stroke-opacity:${short(opacity * this.globalAlpha)};` +
        `stroke-width:${short(this.lineWidth)};stroke-linejoin:${this.lineJoin};stroke-linecap:${this.lineCap}${dash}"${this.moved()}/>`,
    );
  }

  fill(path: Outline = this.path): void {
    if (path.d === undefined || path.d === "") return;
    this.add(`<path d="${path.d}" style="${this.filled()}"${this.moved()}/>`);
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    const [left, top] = [Math.min(x, x + width), Math.min(y, y + height)];
    const size = `width="${short(Math.abs(width))}" height="${short(Math.abs(height))}"`;
    this.add(`<rect x="${short(left)}" y="${short(top)}" ${size} style="${this.filled()}"${this.moved()}/>`);
  }

  /** Nothing lies below what is drawn. */
  clearRect(): void {}

  fillText(text: string, x: number, y: number): void {
    const [, size = "10", family = "sans-serif"] = /([\d.]+)px(?:\/\S+)?\s+(.*)$/.exec(this.font) ?? [];
    const weight = /\b(bold|[5-9]00)\b/.exec(this.font)?.[1] ?? "normal";
    const down = (BASELINE[this.textBaseline] ?? 0) * Number(size);
    const font = `font-family:${family.replaceAll('"', "'")};font-size:${size}px;font-weight:${weight};text-anchor:${ANCHOR[this.textAlign] ?? "start"}`;
    this.add(
      `<text x="${short(x)}" y="${short(y + down)}" style="${this.filled()};${font}"${this.moved()}>${escapeText(String(text))}</text>`,
    );
  }

  measureText(text: string): { width: number } {
    if (this.ruler === null) return { width: 0.55 * 11 * text.length };
    this.ruler.font = this.font;
    return this.ruler.measureText(text);
  }

  private filled(): string {
    const [colour, opacity] = plainColour(this.fillStyle);
    return `fill:${colour};fill-opacity:${short(opacity * this.globalAlpha)};stroke:none`;
  }

  private moved(): string {
    const text = this.matrix.map(short).join(" ");
    return text === "1 0 0 1 0 0" ? "" : ` transform="matrix(${text})"`;
  }

  /** Shapes in a row that are cut alike share their groups. */
  private add(element: string): void {
    const same = this.open.findIndex((id, i) => this.clips[i] !== id);
    const kept = same < 0 ? this.open.length : same;
    this.body.push("</g>".repeat(this.open.length - kept));
    for (const id of this.clips.slice(kept)) this.body.push(`<g clip-path="url(#${id})">`);
    this.open = [...this.clips];
    this.body.push(element);
  }
}
