import { defineConfig } from "vite";

// The built page is kept in the repository: the command embeds it, and building the command needs no Node.
export default defineConfig({
  base: "./",
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
