/** How long to wait after how many failures. */

const LONGEST_MS = 30_000;
const JITTER = 0.1;

/** Doubles `base` per failure up to 30 s, ±10 % so that panes which failed together part. */
export function delay(base: number, failures: number, random: number): number {
  if (failures === 0) return base;
  const grown = Math.min(base * 2 ** Math.min(failures, 16), LONGEST_MS);
  return Math.round(grown * (1 + JITTER * (2 * random - 1)));
}
