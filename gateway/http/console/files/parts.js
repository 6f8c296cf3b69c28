// What pages have in common.

import { address, change } from "/api.js";
import { ask } from "/ask.js";
import { badge, h, note, since, span, until } from "/dom.js";
import { table } from "/table.js";

export const reason = { name: "reason", label: "Reason, for the audit log" };
export const link = (route, parameters, text) => h("a", { href: address(route, parameters) }, text);

/** A command line that can be pasted into a shell, whatever is in the names. */
export const command = (words, ...names) => String.raw({ raw: words }, ...names.map((name = "") => (
  /^[\w@%+=:,./-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`)));

export const number = (text) => (/^\d+$/.test(text) ? BigInt(text) : Number(text ?? 0)).toLocaleString("en");
export const count = (one) => (one.count === "all" ? "all" : number(one.count));
export const attached = (one) => (one.attached ? badge("attached", "good") : badge("detached", "warn"));
export const dim = (...words) => h("span", { class: "dim" }, words);

/** From where a client speaks, without the port, which says nothing to people. */
export const place = (one) => (one?.client?.address ?? "").replace(/:\d+$/, "").replace(/^\[|\]$/g, "");

/** Whose a session is: what it says of itself, or else the name of its client. */
export const whose = (one) => one?.description || one?.client?.name || place(one) || "a client without a name";

/** The same with a link to the session, and below what else is known of the client. */
export function who(one, node, id = one?.session_id) {
  const rest = [one?.description && one.client?.name, whose(one) !== place(one) && place(one)].filter(Boolean);
  return [h("a", { class: "who", href: address("/session", { id, node }) }, whose(one)), rest.length > 0 && h("span", { class: "below" }, rest.map((word, i) => [i > 0 && " · ", word]))];
}

/** How long ago a moment was, by the time of its shard. */
export const ago = (moment) => (moment?.set ? span(moment.age_ms ?? 0) : h("span", { class: "dim" }, "not yet"));

/** When a moment was, by a wall clock where that is known. */
export const when = (moment) => (moment?.wall_time ? since(moment.wall_time) : ago(moment));

/** Data of an object: text, or the length of what is none. */
export const data = (one, name = "data") => (one?.[`${name}_base64`]
  ? h("code", {}, `${one[`${name}_base64`]} (base 64)`) : one?.[name] ? h("code", {}, one[name]) : "");

/** A button that asks before it does something. Without the right to change something there is none. */
export function action(word, what, harm = true) {
  return h("button", { type: "button", class: harm ? "act harm" : "act", onclick: () => ask({ harm, word, ...what }) }, word);
}

/** Says under lists that they go on: a host ends each at its limit, or at 4 MiB. */
export const more = (...lists) => lists.some((one) => one?.more) && note("", h("p", {}, "The list is incomplete."));

/** Buttons in a row. */
export const row = (...buttons) => h("div", { class: "row" }, buttons);

/** A figure with what it counts. */
export const tile = (figure, words, level) => h("div", { class: `tile ${level || ""}`.trim() },
  h("b", { class: /^[\d.,/ ]+$/.test(figure) ? null : "words" }, figure), h("span", {}, words));

export const tiles = (...all) => h("div", { class: "tiles" }, all);

export const endSession = (one, node, id = one.session_id) => action("End", {
  title: `End the session of ${whose(one)}`, does: [h("p", {}, who(one, node, id)), "All holdings are released at once, and the client is notified."],
  fields: [reason], carryOut: asks("/v1/session/destroy", { id }),
});

/** Carries out a change that keeps its reason in the history. */
export const act = (route, body) => async (values) => { await change(route, { ...body, ...values }); };

/** Carries out a change whose request has no place for the reason: the host has the history keep it. */
export const asks = (route, body) => async ({ reason: why, ...values }) => { await change(route, { ...body, ...values }, why); };

/** The words of a state in their colour; nothing that is stuck is green. */
export const phase = (word, stuck) => badge(word, stuck ? "bad" : {
  idle: "good", complete: "good", running: "good", rolling: "warn", preparing: "warn", "rolling_back": "warn", paused: "warn",
  blocked: "bad", halted: "bad",
}[word] ?? "");

/** Why something does not move, since when, and when it goes on by itself. */
export const reasons = ({ reasons: list = [], heard }) => list.map((one) => h("div", { class: `note ${one.blocked || one.overdue ? "bad" : "warn"}`, role: "note" },
  h("p", {}, one.message), h("p", { class: "next" }, one.remaining_ms > 0 ? ["continues automatically ", until(heard + one.remaining_ms)]
    : one.since?.set && !/, for \d/.test(one.message) && ["for ", ago(one.since)])));

/** Actions with an object, the newest first. */
export const done = (list, columns, local) => [h("h2", {}, "Actions"), table(list.toReversed(), [
  ["when", (one) => when(one.time), "", (one) => -(one.time?.shard_time_ms ?? 0)], ["action", (one) => one.action ?? ""], ...columns,
  ["author", (one) => one.author ?? "", "", (one) => one.author], ["reason", (one) => one.reason ?? ""],
], { empty: "No actions.", local, name: "acts" })];

/** The pages of a host and of a shard. */
export const hostLink = (name) => link("/host", { name }, name);
export const shardName = ({ id }) => (id === "0" ? "meta" : id);
export const shardLink = (shard) => link("/shard", { id: shard.id }, shardName(shard));

/** Where an object is, with a link to what else is there. */
export const inNode = (node) => link("/nodes", { node }, h("code", {}, node));

/** The columns that rows of objects begin with. */
export const named = (what, path) => [
  [what, (one) => link(path, { node: one.node, name: one.name }, one.name), "", (one) => one.name],
  ["node", (one) => inNode(one.node), "", (one) => one.node],
];
