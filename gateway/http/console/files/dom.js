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
    else if (child instanceof Node) element.append(child);
    else if (child !== null && child !== undefined && child !== false) element.append(shown(String(child), element.tagName));
  }
}

// Characters that are not seen, or that turn around what is beside them: controls, directions, and those without width.
const unseen = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]|[\ud802\ud803\ud83a\ud83b][\udc00-\udfff]/;

/** A text in which every character is seen: "a\u202eb" is shown as "a‹U+202E›b". */
export const visible = (text, keep = "") => text.replace(unseen, (one) => (keep.includes(one) ? one
  : one < " " ? String.fromCharCode(0x2400 + one.charCodeAt(0)) : `‹U+${one.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}›`));

/** What is shown of a text in an element. Text from right to left is isolated: it does not reorder what is around it. */
function shown(text, tag) {
  if (tag === "TEXTAREA") return text; // it is edited as it is
  const seen = visible(text, tag === "PRE" ? "\n\t" : "");
  if (!rightToLeft.test(seen) || tag === "OPTION") return seen;
  const alone = document.createElement("bdi");
  alone.textContent = seen;
  return alone;
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
  if (old.tagName === "INPUT" && old.value !== next.value) old.value = next.value; // of the page before
  replace(old, next);
  if (old.tagName === "SELECT") old.value = next.value;
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

/** A time that comes, as the time until then. It counts down by itself. */
export const until = (ms) => h("time", { "data-until": Math.round(ms) }, left(ms));

const left = (ms) => (ms > Date.now() ? `in ${span(Math.ceil((ms - Date.now()) / 1e3) * 1e3)}` : "now");

setInterval(() => {
  for (const one of document.querySelectorAll("main time")) {
    one.textContent = one.dataset.until ? left(Number(one.dataset.until)) : span(Date.now() - Date.parse(one.dateTime));
  }
}, 1000);
