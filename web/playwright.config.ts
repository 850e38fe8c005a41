import { existsSync } from "node:fs";
import { defineConfig } from "@playwright/test";

// The browser of the system: Debian's package, or the one that CHROMIUM names.
const chromium = [process.env["CHROMIUM"], "/usr/bin/chromium", "/usr/bin/google-chrome"].find(
  (path) => path !== undefined && existsSync(path),
);

export default defineConfig({
  testDir: "tests",
  timeout: 60_000,
  workers: 1,
  reporter: "list",
  use: {
    launchOptions: {
      ...(chromium === undefined ? {} : { executablePath: chromium }),
      args: [
        "--no-sandbox",
        "--disable-gpu",
        // WebRTC over the loopback, with reports of RFC 8888 in offers.
        "--allow-loopback-in-peer-connection",
        "--force-fieldtrials=WebRTC-RFC8888CongestionControlFeedback/Enabled,offer:true/",
      ],
    },
  },
});
