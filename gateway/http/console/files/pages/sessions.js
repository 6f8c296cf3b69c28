// Which clients are there, and what they hold.

import { address } from "/api.js";
import { h, note, since, span, table } from "/dom.js";
import { attached, client, command, endSession, link, matches, number, row, search, session } from "/parts.js";

export const sessions = {
  path: "/sessions", nav: "Sessions", title: "Sessions", lead: "Clients by name and address, with what they own and wait for.",
  command: () => "signalbox session list", watch: () => ["/v1/sessions?limit=10000"],
  draw([found], local) {
    const rows = (found.items ?? []).filter((one) => matches(local, one.id, one.node, one.description, client(one.client)));
    return h("div", {}, search(local, "Search sessions, clients and addresses"), table(rows, [
      ["session", (one) => session(one.id, one.node)], ["node", (one) => one.node], ["client", (one) => client(one.client)],
      ["description", (one) => one.description ?? ""], ["state", attached],
      ["timeout", (one) => span(one.timeout_ms ?? 0), "number"], ["owns", (one) => number(one.owned), "number"],
      ["waits for", (one) => number(one.waiting), "number"], ["since", (one) => since(one.since), "number"],
    ], { empty: local.filter ? "No session has this in it." : "There is no session.", key: (one) => one.id, local }),
    found.more && note("", h("p", {}, "There are more than are listed.")));
  },
};

/** The page of what a session holds, where the node is known. */
const held = (node) => (one) => {
  const path = { semaphore: "/semaphore", rollout: "/rollout", process: "/process" }[one.kind];
  return node && path ? link(path, { node, name: one.name }, one.name) : one.name;
};

export const oneSession = {
  path: "/session", under: "/sessions", title: "Session", lead: "What it owns, and what it waits for.",
  heading: (given) => `Session ${given.id}`, command: (given) => command`signalbox session show ${given.id}`,
  watch: ({ id }) => [address("/v1/session", { id })],
  draw([found], local) {
    return h("div", {},
      h("p", {}, attached(found), ` ${client(found.client)}`),
      h("p", {}, found.description ?? "It has no description."),
      h("p", { class: "lead" }, "Its timeout is ", span(found.timeout_ms ?? 0), "; it is there since ", since(found.since), "."),
      row(endSession(found.id)),
      h("h2", {}, "Holdings"), table(found.holdings ?? [], [
        ["name", held(local.given.node)], ["kind", (one) => one.kind], ["part", (one) => one.role],
        ["order id", (one) => one.order_id, "number"], ["count", (one) => number(one.count), "number"],
        ["since", (one) => since(one.since), "number"],
      ], { empty: "It owns nothing and waits for nothing.", key: (one) => `${one.kind} ${one.name}`, local }));
  },
};
