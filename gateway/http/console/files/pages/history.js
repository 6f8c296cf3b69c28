// What was done, what was refused, the backups, and what a search has found.

import { address, send } from "/api.js";
import { badge, h, note, since } from "/dom.js";
import { action, hostLink, inNode, link, more, reason, row } from "/parts.js";
import { matches, search, table } from "/table.js";

const changes = [
  ["when", (one) => since(one.time), "", (one) => one.time], ["change", (one) => one.message, "", (one) => one.message],
  ["host", (one) => one.host_name ?? "", "word", (one) => one.host_name], ["author", (one) => one.author ?? "", "word", (one) => one.author],
  ["reason", (one) => one.reason ?? ""],
];

export const history = {
  path: "/history", nav: "History", title: "History", lead: "Audit log and denied requests.",
  command: () => "signalbox cluster audit && signalbox access denials",
  watch: () => ["/v1/cluster/audit?limit=1000", "/v1/access/denials?limit=200"],
  draw([audit, denials], local) {
    const rows = [...(audit.items ?? [])].reverse().filter((one) => matches(local, one.message, one.author, one.reason, one.host_name));
    return h("div", {}, search(local, "Search the audit log"),
      table(rows, changes, { empty: "The audit log is empty.", key: (one) => one.id, local }),
      h("h2", {}, "Requests denied for a missing permission"), table(denials?.items ?? [], [
        ["when", (one) => since(one.time)], ["principal", (one) => one.who ?? ""], ["request", (one) => one.request ?? ""],
        ["object", (one) => [one.path, one.object].filter(Boolean).join(" ")], ["address", (one) => one.address ?? ""],
      ], { empty: "No recent denials.", local, name: "denials" }), more(denials));
  },
};

/** Has the browser save a backup as a file. */
async function download(why) {
  const answer = await send("/v1/backup", {}, why);
  const name = answer.headers.get("Content-Disposition")?.match(/filename="(.+)"/)?.[1] ?? "signalbox.backup";
  const url = URL.createObjectURL(await answer.blob());
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
  return `Saved as ${name}. signalbox backup verify checks the file.`;
}

export const backups = {
  path: "/backups", nav: "Backups", title: "Backups", lead: "Save a backup, and see earlier backups and restores.",
  command: () => "signalbox backup save FILE", watch: () => ["/v1/cluster/audit?limit=1000"],
  draw([audit], local) {
    const rows = [...(audit.items ?? [])].reverse().filter((one) => /backup|restore/i.test(`${one.event} ${one.message}`));
    return h("div", {},
      note("", h("p", {}, "A backup contains all data and token hashes. Saving needs the permission ", h("b", {}, "backup"), " on /."),
        h("p", { class: "next" }, "For regular backups, run signalbox backup save from a system timer.")),
      row(action("Save a backup", {
        title: "Save a backup", does: "The host reads the state of all shards while they keep running, and the browser saves it as a file.",
        fields: [reason], carryOut: (values) => download(values.reason),
      }, false)),
      table(rows, changes, { empty: "No backup is recorded.", key: (one) => one.id, local }));
  },
};

const pathOf = { semaphore: "/semaphore", endpoints: "/endpoints", config: "/config", rollout: "/rollout", process: "/process" };

const target = (one) => ({
  node: () => inNode(one.node), host: () => hostLink(one.name), session: () => link("/session", { id: one.id, node: one.node }, one.name),
}[one.kind] ?? (() => link(pathOf[one.kind], { node: one.node, name: one.name }, one.name)))();

export const found = {
  path: "/search", title: "Search", lead: "Nodes, locks, endpoints, config, rollouts, processes, sessions and hosts.",
  heading: ({ query }) => query, command: () => "signalbox semaphore list && signalbox session list",
  watch: ({ query }) => [address("/v1/search", { query })],
  draw([hits], local) {
    return h("div", {}, table(hits.items ?? [], [
      ["kind", (one) => badge(one.kind), "", (one) => one.kind], ["name", target, "", (one) => one.name],
      ["node", (one) => (one.kind === "node" || !one.node ? "" : inNode(one.node)), "", (one) => one.node],
    ], { empty: "No match.", key: (one) => `${one.kind} ${one.node} ${one.id ?? one.name}`, local }),
    hits.more && note("", h("p", {}, "The list is incomplete: search for a longer text.")));
  },
};
