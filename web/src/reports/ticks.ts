/** Where the axes of drawn figures have their lines. */

/** Round numbers from `low` to `high`, `count` of them or fewer. */
export function niceTicks(low: number, high: number, count: number): number[] {
  const raw = (high - low) / count;
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((f) => f * size).find((s) => s >= raw) ?? 10 * size;
  const ticks: number[] = [];
  for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; i++) ticks.push(i * step);
  return ticks;
}

export function logTicks(low: number, high: number): number[] {
  const ticks: number[] = [];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) {
    for (const f of [1, 2, 5]) if (f * power >= low && f * power <= high) ticks.push(f * power);
  }
  return ticks;
}
