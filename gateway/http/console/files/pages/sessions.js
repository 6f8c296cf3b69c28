// Which clients are there, and what they hold.

import { address } from "/api.js";
import { h, note, since, span } from "/dom.js";
import { attached, command, endSession, inNode, link, more, number, place, row, who, whose } from "/parts.js";
import { matches, search, table } from "/table.js";

export const sessions = {
  path: "/sessions", nav: "Sessions", title: "Sessions", lead: "Client sessions with their holdings and waits.",
  command: () => "signalbox session list", watch: () => ["/v1/sessions?limit=10000"],
  draw([found], local) {
    const rows = (found.items ?? []).filter((one) => matches(local, one.id, one.node, one.description, one.client?.name, one.client?.address)
      && [undefined, one.attached ? "attached" : "detached"].includes(local.given.state));
    return h("div", {}, search(local, "Search sessions, clients and addresses", ["all states", "attached", "detached"]), table(rows, [
      ["client", (one) => who(one, one.node, one.id), "", whose], ["node", (one) => inNode(one.node), "", (one) => one.node],
      ["state", attached, "", (one) => (one.attached ? 0 : 1)],
      ["timeout", (one) => span(one.timeout_ms ?? 0), "number", (one) => one.timeout_ms ?? 0],
      ["owned", (one) => number(one.owned), "number", (one) => one.owned ?? 0],
      ["waiting", (one) => number(one.waiting), "number", (one) => one.waiting ?? 0],
      ["since", (one) => since(one.since), "number", (one) => one.since],
    ], { empty: local.given.filter || local.given.state ? "No match." : "No sessions.", key: (one) => one.id, local }),
    more(found));
  },
};

/** The page of what a session holds, where the node is known. */
const held = (node) => (one) => {
  const path = { semaphore: "/semaphore", rollout: "/rollout", process: "/process" }[one.kind];
  return node && path ? link(path, { node, name: one.name }, one.name) : one.name;
};

export const oneSession = {
  path: "/session", under: "/sessions", title: "Session", lead: "Holdings and waits of a session.",
  heading: (given, found) => (found?.id ? whose(found) : ""), command: (given) => command`signalbox session show ${given.id}`,
  watch: ({ id }) => [address("/v1/session", { id })],
  draw([found], local) {
    const { node } = local.given;
    return h("div", {},
      h("p", {}, attached(found), node && [" in ", inNode(node)], found.client?.name && [" by the client ", h("b", {}, found.client.name)],
        found.client?.version && [" ", found.client.version], place(found) && [" at ", h("code", {}, place(found))]),
      h("p", { class: "lead" }, "Timeout: ", span(found.timeout_ms ?? 0), "; age ", since(found.since), "."),
      row(endSession(found, node, found.id)),
      h("h2", {}, "Holdings"), table(found.holdings ?? [], [
        ["name", held(node), "", (one) => one.name], ["kind", (one) => one.kind, "", (one) => one.kind], ["role", (one) => one.role],
        ["order id", (one) => one.order_id, "number", (one) => Number(one.order_id)], ["count", (one) => number(one.count), "number"],
        ["since", (one) => since(one.since), "number", (one) => one.since],
      ], { empty: "No holdings and no waits.", key: (one) => `${one.kind} ${one.name}`, local }),
      found.more_holdings && note("", h("p", {}, "The list is incomplete.")));
  },
};
