// What programs look up: endpoints, config, and who leads.

import { address } from "/api.js";
import { badge, h, table } from "/dom.js";
import { action, asks, command, data, link, matches, number, reason, row, search, session } from "/parts.js";

export const lookups = {
  path: "/lookups", nav: "Discovery, config", title: "Discovery and config",
  lead: "The names under which endpoints are published, and pieces of config.",
  command: () => "signalbox discover list NODE NAME && signalbox config get NODE NAME",
  watch: () => ["/v1/lookups?limit=10000"],
  draw([found], local) {
    const rows = (found.items ?? []).filter((one) => matches(local, one.node, one.name, one.data));
    return h("div", {}, search(local, "Search nodes, names and values"), table(rows, [
      ["name", (one) => link("/lookup", { node: one.node, name: one.name, what: one.what }, one.name)],
      ["node", (one) => one.node], ["what", (one) => badge(one.what)],
      ["value", (one) => (one.what === "endpoints" ? `${number(one.endpoints)} endpoints` : data(one))],
      ["revision", (one) => number(one.revision), "number"],
    ], {
      empty: local.filter ? "No name has this in it." : "Nothing is published. signalbox discover register NODE NAME ADDRESS does so.",
      key: (one) => `${one.node} ${one.name}`, local,
    }));
  },
};

const listed = (found, node, local) => table(found.endpoints ?? [], [
  ["address", (one) => h("code", {}, one.address)],
  ["metadata", (one) => Object.entries(one.metadata ?? {}).map(([name, value]) => `${name}=${value}`).join(", ")],
  ["session", (one) => session(one.session_id, node)],
], { empty: "No endpoint is there.", key: (one) => one.order_id, local });

function value({ node, name }, found) {
  return h("div", {}, h("p", { class: "dim" }, `Revision ${found.revision ?? 0}.`),
    found.exists ? h("pre", { class: "note" }, h("code", {}, found.value ?? found.value_base64 ?? "")) : h("p", {}, "There is none."),
    row(action("Change", {
      title: `Change ${name}`, does: "All that watch it get the new value. It is refused if it was changed meanwhile.",
      fields: [{ name: "value", label: "Value", kind: "lines", optional: true, value: found.value ?? "" }, reason],
      carryOut: asks("/v1/config/put", { node, name, if_revision: found.revision ?? "0" }),
    }, false)));
}

export const lookup = {
  path: "/lookup", under: "/lookups", title: "Name", lead: "As those see it that look it up.", heading: (given) => given.name,
  command: ({ node, name, what }) => (what === "endpoints" ? command`signalbox discover list ${node} ${name}` : command`signalbox config get ${node} ${name}`),
  watch: ({ node, name, what }) => [address(what === "endpoints" ? "/v1/endpoints" : "/v1/config", { node, name })],
  draw([found], local) {
    const { node, name, what } = local.given;
    return h("div", {}, h("p", {}, "In ", h("code", {}, node), ", as ", link("/semaphore", { node, name }, "the semaphore"), "."),
      what === "endpoints" ? listed(found, node, local) : value(local.given, found));
  },
};
