/** The plots' library, which the page loads before its own script. */

import type uPlot from "uplot";

export default (globalThis as unknown as { uPlot: typeof uPlot }).uPlot;
