import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

// The built page is kept in the repository: the command embeds it, and building the command needs no Node. It loads the plots' library
// that reports have (vite.scripts.config.ts), so that the command holds it once.
export default defineConfig({
  base: "./",
  resolve: { alias: [{ find: /^uplot$/, replacement: fileURLToPath(new URL("src/serve/uplot.ts", import.meta.url)) }] },
  build: {
    outDir: "../crates/cli/assets/page",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    rollupOptions: {
      output: {
        entryFileNames: "page.js",
        assetFileNames: "page[extname]",
      },
    },
  },
});
