// Elements of the page, and how a new drawing replaces the one before without losing focus, selection or scroll.

/** Makes an element: h("a", {href: "/"}, "text", other). What is null or false is left out. */
export const h = (tag, attributes, ...children) => make(document.createElement(tag), attributes, children);

/** Makes an element of a drawing. */
export const svg = (tag, attributes, ...children) => make(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

function make(element, attributes = {}, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  add(element, children);
  return element;
}

function add(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) add(element, child);
    else if (child !== null && child !== undefined && child !== false) element.append(child);
  }
}

/** Makes the children of one element those of another, and keeps what is alike, or has the same key. */
export function replace(old, drawn) {
  const keyed = new Map([...old.children].filter((one) => one.dataset?.key).map((one) => [one.dataset.key, one]));
  let place = old.firstChild;
  for (const next of [...drawn.childNodes]) {
    const same = keyed.get(next.dataset?.key) ?? (place && alike(place, next) ? place : undefined);
    if (!same) {
      old.insertBefore(next, place);
      continue;
    }
    if (same === place) place = place.nextSibling;
    else old.insertBefore(same, place);
    renew(same, next);
  }
  while (place) {
    const gone = place;
    place = place.nextSibling;
    gone.remove();
  }
}

function alike(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.dataset?.key ?? "") === (b.dataset?.key ?? "");
}

function renew(old, next) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== next.data) old.data = next.data;
    return;
  }
  for (const { name } of [...old.attributes]) if (!next.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of next.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const name of ["onclick", "oninput", "onsubmit"]) old[name] = next[name];
  replace(old, next);
}

/** How many rows of a table are drawn at a time. */
const pageRows = 200;

/**
 * Draws a table: columns are [heading, value of a row, class of the cells]. Long ones are drawn in pages; which one is shown
 * is kept in local, under the name.
 */
export function table(rows, columns, { empty = "Nothing here.", key, local, name = "table" } = {}) {
  if (rows.length === 0) return h("div", { class: "scroll" }, h("p", { class: "empty" }, empty));
  const last = Math.ceil(rows.length / pageRows) - 1;
  const at = Math.min(local?.[name] ?? 0, last);
  const body = rows.slice(at * pageRows, (at + 1) * pageRows).map((row) => h("tr", { "data-key": key?.(row) },
    columns.map(([heading, value, kind]) => h("td", { class: kind, "data-head": heading }, value(row)))));
  const head = h("tr", {}, columns.map(([heading, , kind]) => h("th", { scope: "col", class: kind }, heading)));
  return h("div", { class: "scroll" }, h("table", {}, h("thead", {}, head), h("tbody", {}, body)),
    last > 0 && pager(at, last, rows.length, (to) => { local[name] = to; local.redraw(); }));
}

function pager(at, last, rows, go) {
  const button = (word, to, can) => h("button", { type: "button", disabled: !can, onclick: () => go(to) }, word);
  const from = at * pageRows + 1;
  return h("div", { class: "pager" },
    h("span", {}, `${from} to ${Math.min(rows, from + pageRows - 1)} of ${rows}`),
    button("Previous", at - 1, at > 0), button("Next", at + 1, at < last));
}

/** A word in a coloured shape; the word alone says what it is. */
export const badge = (word, kind = "") => h("span", { class: `badge ${kind}` }, word);

/** A note of something that is not as it should be. */
export const note = (kind, ...children) => h("div", { class: `note ${kind}`, role: kind === "bad" ? "alert" : "note" }, ...children);

/** How long ago, or how long, in two units at the most. */
export function span(ms) {
  const units = [["d", 86400e3], ["h", 3600e3], ["min", 60e3], ["s", 1e3]];
  const at = units.findIndex(([, size]) => ms >= size);
  if (at < 0) return `${Math.max(0, Math.round(ms))} ms`;
  const [name, size] = units[at];
  const whole = Math.floor(ms / size);
  const next = units[at + 1];
  const rest = next ? Math.floor((ms - whole * size) / next[1]) : 0;
  return rest && next ? `${whole} ${name} ${rest} ${next[0]}` : `${whole} ${name}`;
}

/** A time, as the time since then; the exact one is in the title. It grows by itself. */
export function since(time) {
  if (!time) return h("span", { class: "dim" }, "not known");
  return h("time", { datetime: time, title: time }, span(Date.now() - Date.parse(time)));
}

setInterval(() => {
  for (const one of document.querySelectorAll("main time")) one.textContent = span(Date.now() - Date.parse(one.dateTime));
}, 1000);
