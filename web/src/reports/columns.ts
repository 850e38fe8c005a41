/** Columns of numbers, unpacked once. */

import { type Common, type Packed } from "./data";
import { dataOf } from "./page";

const { columns } = dataOf<Common>();
const unpacked: (number | null)[][] = [];

function unpack(packed: Packed): (number | null)[] {
  if (Array.isArray(packed)) return packed;
  const decimals = Math.round(-Math.log10(packed.q));
  const scale = 10 ** decimals;
  if (packed.d === undefined) return Array.from({ length: packed.n }, (_, i) => (packed.a + i * packed.s) / scale);
  let sum = 0;
  return packed.d.map((step) => (sum += step) / scale);
}

/** A column of values, in which `null` is a gap. */
export function column(index: number): (number | null)[] {
  const known = unpacked[index];
  if (known !== undefined) return known;
  const packed = columns[index];
  if (packed === undefined) throw new Error(`no column ${index}`);
  return (unpacked[index] = unpack(packed));
}

/** A column without gaps: times, or the values of a distribution. */
export const ascending = (index: number): number[] => column(index) as number[];
