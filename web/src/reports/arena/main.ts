/** The arena: fronts, the heat table, and the table to filter. Everything comes from the JSON block; names are only ever set as text. */

import { drawnBy, redraw } from "../page";
import { tables } from "../tables";
import { all } from "./all";
import { fronts, hero } from "./fronts";
import { heat } from "./heat";

function draw(): void {
  hero();
  fronts();
  heat();
}

let width = 0;
new ResizeObserver(() => {
  if (document.body.clientWidth === width) return;
  width = document.body.clientWidth;
  hero();
  fronts();
}).observe(document.body);

drawnBy(draw);
tables();
all();
redraw();
