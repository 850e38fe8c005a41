/** Numbers and intervals as text. */

export type Maybe = number | null | undefined;

/** Four significant digits or so; a dash for no value. */
export function fmt(value: Maybe): string {
  if (value == null || !isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.001 || size >= 1e7)) return value.toExponential(2);
  const places = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
  return fixed(value, places);
}

/** So many digits after the point, with a true minus. */
export const fixed = (value: number, decimals: number): string => value.toFixed(decimals).replace("-", "−");

/** A number beside an axis. */
export function fmtTick(value: number): string {
  const size = Math.abs(value);
  const short = (v: number) => String(+v.toPrecision(6));
  if (size >= 1e6) return `${short(value / 1e6)}M`;
  if (size >= 1e4) return `${short(value / 1e3)}k`;
  return short(value);
}

export const withUnit = (text: string, unit: string | undefined): string => (unit ? `${text} (${unit})` : text);

/** What stands behind a mean: ± where both sides of its interval are alike, else from where to where. */
export function sides(mean: Maybe, low: Maybe, high: Maybe, digits: (value: number) => string): string {
  if (mean == null || low == null || high == null) return "";
  const [down, up] = [mean - low, high - mean];
  return Math.abs(up - down) <= 0.1 * Math.max(up, down) ? ` ± ${digits((high - low) / 2)}` : ` [${digits(low)}, ${digits(high)}]`;
}
