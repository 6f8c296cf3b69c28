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
    ], { empty: local.given.filter ? "No name has this in it." : page.none, key: (one) => `${one.node} ${one.name}`, local }), more(found));
  },
});

export const discovery = list("discovery", {
  path: "/discovery", of: "/endpoints", nav: "Discovery", title: "Discovery", lead: "The names under which endpoints are published.",
  command: () => "signalbox discover list NODE NAME", finds: "Search nodes and names",
  none: "Nothing is published. signalbox discover register NODE NAME ADDRESS does so.",
}, [["endpoints", (one) => number(one.endpoints), "number", (one) => one.endpoints ?? 0]]);

export const endpoints = {
  path: "/endpoints", under: "/discovery", title: "Endpoints", lead: "As those see them that look them up.", heading: (given) => given.name,
  command: ({ node, name }) => command`signalbox discover list ${node} ${name}`,
  watch: ({ node, name }) => [address("/v1/endpoints", { node, name, limit: 10000 })],
  draw([found], local) {
    const { node } = local.given;
    return h("div", {}, h("p", {}, "In ", inNode(node), "."), table(found.endpoints ?? [], [
      ["address", (one) => h("code", {}, one.address), "", (one) => one.address],
      ["metadata", (one) => Object.entries(one.metadata ?? {}).map(([name, value]) => h("div", {}, name, "=", value))],
      ["", (one) => one.session_id && link("/session", { id: one.session_id, node }, "its session"), "acts"],
    ], { empty: "No endpoint is there.", key: (one) => one.order_id, local }), more(found));
  },
};

export const configs = list("configs", {
  path: "/configs", of: "/config", nav: "Config", title: "Config", lead: "Config entries that programs read and follow.",
  command: () => "signalbox config get NODE NAME", finds: "Search nodes, names and values",
  none: "There is no config. signalbox config put NODE NAME VALUE makes an entry.",
}, [["value", (one) => data(one, "value"), "clipped"]]);

export const config = {
  path: "/config", under: "/configs", title: "Config", lead: "As those see it that read it.", heading: (given) => given.name,
  command: ({ node, name }) => command`signalbox config get ${node} ${name}`,
  watch: ({ node, name }) => [address("/v1/config", { node, name })],
  draw([found], local) {
    const { node, name } = local.given;
    return h("div", {}, h("p", {}, "In ", inNode(node), `, revision ${found.revision ?? 0}.`),
      found.exists ? h("pre", { class: "note" }, found.value ?? found.value_base64 ?? "") : h("p", {}, "There is none."),
      row(action("Change", {
        title: `Change ${name}`, does: "All that watch it get the new value. It is refused if it was changed meanwhile.",
        fields: [{ name: "value", label: "Value", kind: "lines", optional: true, value: found.value ?? "" }, reason],
        carryOut: asks("/v1/config/put", { node, name, if_revision: found.revision ?? "0" }),
      }, false)));
  },
};
