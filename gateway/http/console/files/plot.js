// Lines over the last hour, or the last ten minutes of a host that has measured no longer, drawn as SVG.

import { h, span, svg } from "/dom.js";

const width = 600, height = 120;

/** Over which times lines are drawn, and how far apart two points may be that a line joins. */
const hour = 3600e3, tenMinutes = 600e3, apart = 60e3;

/** The smallest of 1, 2 and 5 with zeros that is not below a number. */
function roundUp(most) {
  const size = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((step) => step * size).find((step) => step >= most * 0.999);
}

export const short = (value) => (value >= 1e6 ? `${(value / 1e6).toFixed(1)}M` : value >= 1e4 ? `${Math.round(value / 1e3)}k`
  : value >= 100 || Number.isInteger(value) ? String(Math.round(value)) : value.toFixed(value < 1 ? 2 : 1));

/** The stretches of a line without a gap, each as [from, to, path]. */
function stretches(values, times, scale, plotted) {
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
  const scale = most > 0 ? roundUp(most) : 1, plotted = times.at(-1) - times[0] > tenMinutes ? hour : tenMinutes;
  const last = (values) => `${short(values.at(-1) ?? 0)} ${unit}`;
  const words = lines.map(([name, values]) => `${name} ${last(values)}`).join(", ");
  return h("figure", { class: "plot" },
    h("figcaption", {}, h("b", {}, title),
      lines.map(([name, values], i) => h("span", { class: `key ${i ? "second" : ""}` }, `${name} ${last(values)}`))),
    svg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": `${title}: ${words}` },
      [0, 0.5, 1].map((at) => svg("line", { x1: 0, x2: width, y1: height - at * (height - 4), y2: height - at * (height - 4) })),
      lines.map(([, values], i) => stretches(values, times, scale, plotted).map(([from, to, path]) => [
        lines.length === 1 && svg("path", { class: "area", d: `${path}L${to} ${height}L${from} ${height}Z` }),
        svg("path", { class: i ? "second" : null, d: path })]))),
    h("p", { class: "axis" }, h("span", {}, `${span(plotted)} ago`), h("span", {}, `up to ${short(scale)} ${unit}`)));
}

/** The plots of a load, under a heading. */
export function plots(title, load, words) {
  const points = (load?.items ?? []).map((one) => ({ ...one, at: Date.parse(one.time) }));
  const shown = points.filter((one) => points.at(-1).at - one.at <= hour);
  if (shown.length === 0) return null;
  const of = (name) => shown.map((one) => one[name] ?? 0), times = of("at");
  return h("div", {}, h("h2", {}, title), h("p", { class: "lead" }, words), h("div", { class: "plots" },
    plot("Requests", "/s", [["now", of("requests_per_second")]], times),
    plot("Answers", "ms", [["p50", of("p50_ms")], ["p99", of("p99_ms")]], times),
    plot("Commits", "ms", [["p99", of("commit_p99_ms")]], times)));
}
