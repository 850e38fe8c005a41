/** What the command says; crates/lab/src/shelf has the definitions. */

export interface Metric {
  key: string;
  label: string;
  unit: string;
  decimals: number;
  better: "higher" | "lower" | null;
  help: string;
}

export interface Paint {
  light: string;
  dark: string;
}

export interface Entry {
  path: string;
  scenario: string;
  labels: [string, string][];
  controllers: string[];
  seed: number;
  duration_s: number;
  /** Seconds since 1970. */
  written: number;
  scenario_hash: string;
  metrics: Record<string, number>;
}

export interface Page {
  path: string;
  written: number;
}

export interface Curve {
  name: string;
  unit: string;
  x: number[];
  y: number[];
}

export interface Live {
  path: string;
  kind: string;
  title: string;
  share: number | null;
  elapsed_s: number;
  curves: Curve[];
}

export interface Shelf {
  root: string;
  version: string;
  metrics: Metric[];
  colours: Record<string, Paint>;
  most: number;
  entries: Entry[];
  pages: Page[];
}
