// Tables whose order, page and filter are in the address: what is seen can be sent to others, and is there after going back.

import { h } from "/dom.js";

/** How many rows are drawn at a time. */
const pageRows = 200;

const collator = new Intl.Collator("en", { numeric: true });
const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : collator.compare(a ?? "", b ?? ""));

/**
 * Draws a table: columns are [heading, value of a row, class of the cells, what rows are ordered by]. A page with more
 * than one table gives each a name, by which the address has its order and its page.
 */
export function table(rows, columns, { empty = "Nothing here.", key, local, name = "" } = {}) {
  if (rows.length === 0) return h("div", { class: "scroll" }, h("p", { class: "empty" }, empty));
  const own = name && `${name}.`, { given } = local;
  const ordered = order(rows, columns, given[`${own}sort`]);
  const last = Math.ceil(rows.length / pageRows);
  const at = Math.min(Math.max(1, Math.floor(given[`${own}page`]) || 1), last);
  const body = ordered.slice((at - 1) * pageRows, at * pageRows).map((row) => h("tr", { "data-key": key?.(row) },
    columns.map(([heading, value, kind]) => h("td", { class: kind, "data-head": titled(heading) }, value(row)))));
  return h("div", { class: "scroll" },
    h("table", {}, h("thead", {}, h("tr", {}, columns.map((one) => head(one, local, own)))), h("tbody", {}, body)),
    last > 1 && pager(at, last, rows.length, (to) => local.set({ [`${own}page`]: to > 1 ? to : "" })));
}

const titled = (heading) => heading.charAt(0).toUpperCase() + heading.slice(1);

/** Which column rows are ordered by, such as "since", or "-since" for the largest first. */
function order(rows, columns, sort = "") {
  const column = columns.find(([heading, , , by]) => by && heading === sort.replace(/^-/, ""));
  if (!column) return rows;
  const way = sort.startsWith("-") ? -1 : 1;
  return rows.toSorted((a, b) => way * compare(column[3](a), column[3](b)));
}

function head([heading, , kind, by], local, own) {
  const sort = local.given[`${own}sort`], down = `-${heading}`;
  const now = !by ? null : sort === heading ? "ascending" : sort === down ? "descending" : "none";
  const next = { none: heading, ascending: down, descending: "" }[now];
  return h("th", { scope: "col", class: kind, "aria-sort": now }, by ? h("button", {
    type: "button", class: "sort", onclick: () => local.set({ [`${own}sort`]: next, [`${own}page`]: "" }),
  }, titled(heading)) : titled(heading));
}

function pager(at, last, rows, go) {
  const button = (word, to, can) => h("button", { type: "button", disabled: !can, onclick: () => go(to) }, word);
  const from = (at - 1) * pageRows + 1;
  return h("div", { class: "pager" },
    h("span", {}, `${from} to ${Math.min(rows, from + pageRows - 1)} of ${rows}`),
    button("Previous", at - 1, at > 1), button("Next", at + 1, at < last));
}

/** A search over the rows of a page, and a choice of states if there are any. The first state needs no parameter. */
export function search(local, words, states) {
  return h("div", { class: "row" }, h("input", {
    type: "search", placeholder: words, "aria-label": words, value: local.given.filter ?? "",
    oninput: (event) => local.set({ filter: event.target.value, page: "" }),
  }), states && h("select", {
    "aria-label": "State", oninput: (event) => local.set({ state: event.target.value, page: "" }),
  }, states.map((one, i) => {
    const value = i ? one : "";
    return h("option", { value, selected: value === (local.given.state ?? "") }, titled(one));
  })));
}

export function matches({ given: { filter = "" } }, ...texts) {
  const wanted = filter.toLowerCase();
  return texts.some((text) => (text ?? "").toLowerCase().includes(wanted));
}
