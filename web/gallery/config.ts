import { defineConfig } from "@playwright/test";
import base from "../playwright.config";

export default defineConfig({
  ...base,
  testDir: ".",
  // Runs of all commands, one after the other.
  timeout: 3_600_000,
});
