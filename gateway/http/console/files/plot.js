// Lines over the last ten minutes, drawn as SVG.

import { h, svg } from "/dom.js";

const width = 600, height = 120;

/** Over which time lines are drawn, and how far apart two points may be that a line joins. */
export const plotted = 600e3;
const apart = 60e3;

/** The smallest of 1, 2 and 5 with zeros that is not below a number. */
function roundUp(most) {
  const size = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((step) => step * size).find((step) => step >= most * 0.999);
}

export const short = (value) => (value >= 1e6 ? `${(value / 1e6).toFixed(1)}M` : value >= 1e4 ? `${Math.round(value / 1e3)}k`
  : value >= 100 || Number.isInteger(value) ? String(Math.round(value)) : value.toFixed(value < 1 ? 2 : 1));

/** The stretches of a line without a gap, each as [from, to, path]. */
function stretches(values, times, scale) {
  const list = [], last = times.at(-1);
  values.forEach((value, i) => {
    const x = (width - ((last - times[i]) / plotted) * width).toFixed(1), y = (height - (value / scale) * (height - 4)).toFixed(1);
    const joins = i > 0 && times[i] - times[i - 1] <= apart;
    if (!joins) list.push([x, x, `M${x} ${y}h0`]);
    else [list.at(-1)[1], list.at(-1)[2]] = [x, `${list.at(-1)[2]}L${x} ${y}`];
  });
  return list;
}

/** Draws one line or two: lines are [name, values], at times. The first one has its area filled where it is alone. */
export function plot(title, unit, lines, times) {
  const most = Math.max(...lines.flatMap(([, values]) => values), 0);
  const scale = most > 0 ? roundUp(most) : 1;
  const last = (values) => `${short(values.at(-1) ?? 0)} ${unit}`;
  const words = lines.map(([name, values]) => `${name} ${last(values)}`).join(", ");
  return h("figure", { class: "plot" },
    h("figcaption", {}, h("b", {}, title),
      lines.map(([name, values], i) => h("span", { class: `key ${i ? "second" : ""}` }, `${name} ${last(values)}`))),
    svg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": `${title}: ${words}` },
      [0, 0.5, 1].map((at) => svg("line", { x1: 0, x2: width, y1: height - at * (height - 4), y2: height - at * (height - 4) })),
      lines.map(([, values], i) => stretches(values, times, scale).map(([from, to, path]) => [
        lines.length === 1 && svg("path", { class: "area", d: `${path}L${to} ${height}L${from} ${height}Z` }),
        svg("path", { class: i ? "second" : null, d: path })]))),
    h("p", { class: "axis" }, h("span", {}, "10 min ago"), h("span", {}, `up to ${short(scale)} ${unit}`)));
}
