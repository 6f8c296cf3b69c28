// Elements of the page, and how a new drawing replaces the one before without losing focus, selection or scroll.

/** Makes an element: h("a", {href: "/"}, "text", other). What is null or false is left out. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
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

/** Makes the children of one element those of another, and keeps what is alike. */
export function replace(old, drawn) {
  const before = [...old.childNodes], after = [...drawn.childNodes];
  after.forEach((next, i) => {
    const present = before[i];
    if (!present) old.append(next);
    else if (!alike(present, next)) present.replaceWith(next);
    else renew(present, next);
  });
  before.slice(after.length).forEach((node) => node.remove());
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

/** Draws a table: columns are [heading, value of a row, "number" for those on the right]. */
export function table(rows, columns, { empty = "Nothing here.", most = 500, key } = {}) {
  if (rows.length === 0) return h("div", { class: "scroll" }, h("p", { class: "empty" }, empty));
  const head = columns.map(([name, , kind]) => h("th", { scope: "col", class: kind }, name));
  const body = rows.slice(0, most).map((row) => h("tr", { "data-key": key?.(row) },
    columns.map(([name, value, kind]) => h("td", { class: kind, "data-head": name }, value(row)))));
  const more = rows.length > most && h("p", { class: "empty" }, `${rows.length - most} more: search for a part of the name.`);
  return h("div", { class: "scroll", tabindex: "0" }, h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, body)), more);
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

/** A time, as the time since then; the exact one is in the title. */
export function since(time) {
  if (!time) return h("span", { class: "dim" }, "not known");
  return h("time", { datetime: time, title: time }, span(Date.now() - Date.parse(time)));
}
