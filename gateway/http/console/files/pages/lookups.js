// What programs look up: endpoints, and config entries.

import { address } from "/api.js";
import { h } from "/dom.js";
import { action, asks, command, data, inNode, link, more, named, number, reason, row } from "/parts.js";
import { matches, search, table } from "/table.js";

const list = (route, page, columns) => ({
  ...page, watch: () => [`/v1/${route}?limit=10000`],
  draw([found], local) {
    const rows = (found.items ?? []).filter((one) => matches(local, one.node, one.name, one.value));
    return h("div", {}, search(local, page.finds), table(rows, [
      ...named("name", page.of), ...columns, ["revision", (one) => number(one.revision), "number", (one) => Number(one.revision)],
    ], { empty: local.given.filter ? "No match." : page.none, key: (one) => `${one.node} ${one.name}`, local }), more(found));
  },
});

export const discovery = list("discovery", {
  path: "/discovery", of: "/endpoints", nav: "Discovery", title: "Discovery", lead: "Services with registered endpoints.",
  command: () => "signalbox discover list NODE NAME", finds: "Search nodes and names",
  none: "No endpoints. Register one with signalbox discover register NODE NAME ADDRESS.",
}, [["endpoints", (one) => number(one.endpoints), "number", (one) => one.endpoints ?? 0]]);

export const endpoints = {
  path: "/endpoints", under: "/discovery", title: "Endpoints", lead: "Endpoints as clients see them.", heading: (given) => given.name,
  command: ({ node, name }) => command`signalbox discover list ${node} ${name}`,
  watch: ({ node, name }) => [address("/v1/endpoints", { node, name, limit: 10000 })],
  draw([found], local) {
    const { node } = local.given;
    return h("div", {}, h("p", {}, "In ", inNode(node), "."), table(found.endpoints ?? [], [
      ["address", (one) => h("code", {}, one.address), "", (one) => one.address],
      ["metadata", (one) => Object.entries(one.metadata ?? {}).map(([name, value]) => h("div", {}, name, "=", value))],
      ["", (one) => one.session_id && link("/session", { id: one.session_id, node }, "its session"), "acts"],
    ], { empty: "No endpoints.", key: (one) => one.order_id, local }), more(found));
  },
};

export const configs = list("configs", {
  path: "/configs", of: "/config", nav: "Config", title: "Config", lead: "Config entries that programs read and watch.",
  command: () => "signalbox config get NODE NAME", finds: "Search nodes, names and values",
  none: "No config entries. Create one with signalbox config put NODE NAME VALUE.",
}, [["value", (one) => data(one, "value"), "clipped"]]);

export const config = {
  path: "/config", under: "/configs", title: "Config", lead: "The config entry as clients see it.", heading: (given) => given.name,
  command: ({ node, name }) => command`signalbox config get ${node} ${name}`,
  watch: ({ node, name }) => [address("/v1/config", { node, name })],
  draw([found], local) {
    const { node, name } = local.given;
    return h("div", {}, h("p", {}, "In ", inNode(node), `, revision ${found.revision ?? 0}.`),
      found.exists ? h("pre", { class: "note" }, found.value ?? found.value_base64 ?? "") : h("p", {}, "The entry does not exist."),
      row(action("Change", {
        title: `Change ${name}`, does: "All watchers get the new value. The change is refused if the entry was changed meanwhile.",
        fields: [{ name: "value", label: "Value", kind: "lines", optional: true, value: found.value ?? "" }, reason],
        carryOut: asks("/v1/config/put", { node, name, if_revision: found.revision ?? "0" }),
      }, false)));
  },
};
