/** The validation page is text and tables: of its script it has the button for colours alone. */

import { drawnBy } from "./page";

drawnBy(() => {
  // Nothing depends on the theme but colours of the style sheet.
});
