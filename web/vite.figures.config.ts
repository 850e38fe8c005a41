import { defineConfig } from "vite";

// What saves figures, for reports: one script that a page embeds.
export default defineConfig({
  build: {
    outDir: "../crates/report/assets/built",
    emptyOutDir: true,
    target: "es2022",
    lib: { entry: "src/figures/index.ts", formats: ["iife"], name: "figures", fileName: () => "figures.js" },
  },
});
