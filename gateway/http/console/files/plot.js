// Lines over time, drawn as SVG.

import { h, svg } from "/dom.js";

const width = 600, height = 120;

/** The smallest of 1, 2 and 5 with zeros that is not below a number. */
function roundUp(most) {
  const size = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((step) => step * size).find((step) => step >= most * 0.999);
}

export const short = (value) => (value >= 1e6 ? `${(value / 1e6).toFixed(1)}M` : value >= 1e4 ? `${Math.round(value / 1e3)}k`
  : value >= 100 || Number.isInteger(value) ? String(Math.round(value)) : value.toFixed(value < 1 ? 2 : 1));

function path(values, scale) {
  const step = width / Math.max(1, values.length - 1);
  return values.map((value, i) => `${i ? "L" : "M"}${(i * step).toFixed(1)} ${(height - (value / scale) * (height - 4)).toFixed(1)}`).join("");
}

/** Draws one line or two: lines are [name, values]. The first one has its area filled where it is alone. */
export function plot(title, unit, lines, from) {
  const most = Math.max(...lines.flatMap(([, values]) => values), 0);
  const scale = most > 0 ? roundUp(most) : 1;
  const last = (values) => `${short(values.at(-1) ?? 0)} ${unit}`;
  const enough = lines[0][1].length > 1;
  const first = enough ? path(lines[0][1], scale) : "";
  const words = lines.map(([name, values]) => `${name} ${last(values)}`).join(", ");
  return h("figure", { class: "plot" },
    h("figcaption", {}, h("b", {}, title),
      lines.map(([name, values], i) => h("span", { class: `key ${i ? "second" : ""}` }, `${name} ${last(values)}`))),
    svg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": `${title}: ${words}` },
      [0, 0.5, 1].map((at) => svg("line", { x1: 0, x2: width, y1: height - at * (height - 4), y2: height - at * (height - 4) })),
      enough && lines.length === 1 && svg("path", { class: "area", d: `${first}L${width} ${height}L0 ${height}Z` }),
      enough && lines.map(([, values], i) => svg("path", { class: i ? "second" : null, d: path(values, scale) }))),
    h("p", { class: "axis" }, h("span", {}, enough ? from : "one reading so far"), h("span", {}, `up to ${short(scale)} ${unit}`)));
}
