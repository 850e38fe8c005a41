/** A picture that is SVG on the page already: a copy that needs no style sheet. */

import { escapeText, plainColour } from "./svg";
import type { Paper, Picture } from "./plot";

/** What the style sheets of our pages set on shapes and text. */
const KEPT = [
  "fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "stroke-linejoin", "paint-order",
  "stop-color", "stop-opacity", "font-family", "font-size", "font-weight", "text-anchor", "opacity",
];

export function copy(svg: SVGSVGElement, title: string, paper: Paper): Picture {
  const own = svg.cloneNode(true) as SVGSVGElement;
  const [from, to] = [[svg, ...svg.querySelectorAll("*")], [own, ...own.querySelectorAll("*")]];
  from.forEach((element, i) => {
    const target = to[i];
    if (target === undefined) return;
    for (const name of ["class", "style", "tabindex", "role", "aria-label"]) target.removeAttribute(name);
    const style = getComputedStyle(element);
    const look = KEPT.map((name) => [name, style.getPropertyValue(name)] as const)
      .filter(([, value]) => value !== "")
      .map(([name, value]) => `${name}:${/^rgb/.test(value) ? opaque(value) : value}`);
    if (element !== svg && !["defs", "title"].includes(element.tagName)) target.setAttribute("style", look.join(";").replaceAll('"', "'"));
  });
  const width = svg.viewBox.baseVal.width || svg.clientWidth;
  const height = (svg.viewBox.baseVal.height || svg.clientHeight) + 26;
  const inner = new XMLSerializer().serializeToString(own).replace(/^<svg/, '<svg y="26"');
  const text = `font-family:${paper.font.replaceAll('"', "'")};font-size:14px;font-weight:600;fill:${plainColour(paper.ink)[0]}`;
  return {
    width,
    height,
    svg:
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">` +
      `<title>${escapeText(title)}</title><rect width="${width}" height="${height}" style="fill:${plainColour(paper.paper)[0]}"/>` +
      `<text x="10" y="18" style="${text}">${escapeText(title)}</text>${inner}</svg>`,
  };
}

/** Nothing of ours is half transparent by its colour: shapes have an opacity of their own. */
function opaque(value: string): string {
  const [colour, opacity] = plainColour(value);
  return opacity === 0 ? "none" : colour;
}
