// What pages have in common.

import { address, change } from "/api.js";
import { ask } from "/ask.js";
import { badge, h, since, span } from "/dom.js";

export const reason = { name: "reason", label: "Reason, for the history" };
export const link = (route, parameters, text) => h("a", { href: address(route, parameters) }, text);

/** A command line that can be pasted into a shell, whatever is in the names. */
export const command = (words, ...names) => String.raw({ raw: words }, ...names.map((name = "") => (
  /^[\w@%+=:,./-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`)));

export const number = (text) => Number(text ?? 0).toLocaleString("en");
export const client = (one) => [one?.name, one?.address].filter(Boolean).join(" · ") || "not known";
export const count = (one) => (one.count === "18446744073709551615" ? "all" : number(one.count));
export const session = (id, node) => (id ? link("/session", { id, node }, id) : h("span", { class: "dim" }, "none"));
export const attached = (one) => (one.attached ? badge("attached", "good") : badge("detached", "warn"));

/** How long ago a moment was, by the time of its shard. */
export const ago = (moment) => (moment?.happened ? span(moment.ago_ms ?? 0) : h("span", { class: "dim" }, "not yet"));

/** When a moment was, by a wall clock where that is known. */
export const when = (moment) => (moment?.wall ? since(moment.wall) : ago(moment));

/** Data of an object: text, or the length of what is none. */
export const data = (one, name = "data") => (one?.[`${name}_base64`]
  ? h("code", {}, `${one[`${name}_base64`]} (base 64)`) : one?.[name] ? h("code", {}, one[name]) : "");

/** A search over the rows of a page. */
export function search(local, words) {
  return h("div", { class: "row" }, h("input", {
    type: "search", placeholder: words, "aria-label": words, value: local.filter,
    oninput: (event) => { local.filter = event.target.value; local.table = 0; local.redraw(); },
  }));
}

export const matches = (local, ...texts) => texts.some((text) => (text ?? "").toLowerCase().includes(local.filter.toLowerCase()));

/** A button that asks before it does something. Without the right to change something there is none. */
export function action(word, what, harm = true) {
  return h("button", { type: "button", class: harm ? "act harm" : "act", onclick: () => ask({ harm, word, ...what }) }, word);
}

/** Buttons in a row. */
export const row = (...buttons) => h("div", { class: "row" }, buttons);

/** A figure with what it counts. */
export const tile = (figure, words, kind) => h("div", { class: `tile ${kind ?? ""}` },
  h("b", { class: /^[\d.,/ ]+$/.test(figure) ? null : "words" }, figure), h("span", {}, words));

export const tiles = (...all) => h("div", { class: "tiles" }, all);

export const endSession = (id, what = "All that it owns is free at once, and its client is notified.") => action("End", {
  title: `End session ${id}`, does: what, fields: [reason],
  carryOut: asks("/v1/session/destroy", { id }),
});

/** Carries out a change that keeps its reason in the history. */
export const act = (route, body) => async (values) => { await change(route, { ...body, ...values }); };

/** Carries out a change whose request has no place for the reason: the host has the history keep it. */
export const asks = (route, body) => async ({ reason: why, ...values }) => { await change(route, { ...body, ...values }, why); };

/** The words of a state in their colour. */
export const phase = (word) => badge(word, {
  idle: "good", complete: "good", running: "good", rolling: "warn", preparing: "warn", "rolling_back": "warn", paused: "warn",
  blocked: "bad", halted: "bad",
}[word] ?? "");

/** Why something does not move. */
export const reasons = (list) => (list ?? []).map((one) => h("div", { class: `note ${one.blocked ? "bad" : "warn"}`, role: "note" },
  h("p", {}, one.text)));
