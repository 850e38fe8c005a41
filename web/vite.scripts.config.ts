import { copyFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";

const REPORTS = "../crates/report/assets/built";
const COMMAND = "../crates/cli/assets/built";

/** One script for each page, by `--mode`: what is loaded from a file, or written into a page, is of one piece. */
const PAGES: Record<string, [entry: string, folder: string]> = {
  run: ["src/reports/run/main.ts", REPORTS],
  arena: ["src/reports/arena/main.ts", REPORTS],
  paper: ["src/reports/paper/main.ts", REPORTS],
  validation: ["src/reports/validation.ts", REPORTS],
  upf: ["src/upf/main.ts", COMMAND],
  rtc: ["src/rtc/main.ts", COMMAND],
};

/** The plots' library as its authors publish it, once for all pages: their scripts know it as the global `uPlot`. */
const library: Plugin = {
  name: "library",
  closeBundle() {
    for (const file of ["dist/uPlot.iife.min.js", "dist/uPlot.min.css", "LICENSE"]) {
      copyFileSync(`node_modules/uplot/${file}`, `${REPORTS}/${file === "LICENSE" ? "uPlot.LICENSE" : file.replace("dist/", "")}`);
    }
  },
};

export default defineConfig(({ mode }) => {
  const [entry, folder] = PAGES[mode] ?? [];
  if (entry === undefined || folder === undefined) throw new Error(`--mode ${mode}: expected one of ${Object.keys(PAGES).join(", ")}`);
  return {
    plugins: mode === "run" ? [library] : [],
    build: {
      outDir: folder,
      emptyOutDir: false,
      target: "es2022",
      modulePreload: false,
      rollupOptions: {
        input: entry,
        external: ["uplot"],
        output: { format: "iife", globals: { uplot: "uPlot" }, entryFileNames: `${mode}.js` },
      },
    },
  };
});
