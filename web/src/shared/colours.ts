/** Which colours the page has now, light or dark, and the button that changes them. */

export const root = document.documentElement;
const darkWanted = matchMedia("(prefers-color-scheme: dark)");

/** A colour on the light page and on the dark one, `#rrggbb`. */
export interface Paint {
  light: string;
  dark: string;
}

export const dark = (): boolean => {
  const chosen = root.dataset["theme"];
  return chosen === undefined ? darkWanted.matches : chosen === "dark";
};

export const hue = (paint: Paint): string => (dark() ? paint.dark : paint.light);

let probe: HTMLElement | undefined;

/** What a colour of the style sheet is now: a canvas knows no variables. */
export function css(name: string): string {
  if (probe === undefined) {
    probe = document.createElement("span");
    probe.hidden = true;
    document.body.append(probe);
  }
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}

/** `share` of `other` in `hex`, both `#rrggbb`. */
export function mix(hex: string, other: string, share: number): string {
  const at = (text: string, i: number) => parseInt(text.slice(1 + 2 * i, 3 + 2 * i), 16);
  const part = (i: number) => Math.round(at(hex, i) * (1 - share) + at(other, i) * share);
  return `rgb(${part(0)} ${part(1)} ${part(2)})`;
}

/** The piece of colour beside a name. */
export function swatch(paint: Paint | undefined): HTMLSpanElement {
  const made = document.createElement("span");
  made.className = "swatch";
  made.style.setProperty("--l", paint?.light ?? "#888888");
  made.style.setProperty("--d", paint?.dark ?? "#888888");
  return made;
}

/** Lets `button` change the colours; `changed` draws what no style sheet reaches. */
export function themeButton(button: HTMLButtonElement, changed: () => void): void {
  const label = () => {
    button.textContent = dark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${dark() ? "light" : "dark"} colours`);
  };
  const act = () => {
    label();
    changed();
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset["theme"] = dark() ? "light" : "dark";
    keep(root.dataset["theme"]);
    act();
  });
  darkWanted.addEventListener("change", act);
  const before = kept();
  if (before !== undefined) root.dataset["theme"] = before;
  label();
}

const KEY = "slackwater-theme";

/** Storage may be closed to local files. */
function keep(theme: string): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // As above.
  }
}

function kept(): string | undefined {
  try {
    const found = localStorage.getItem(KEY);
    return found === "dark" || found === "light" ? found : undefined;
  } catch {
    return undefined;
  }
}
