// What was done, what was refused, the backups, and what a search has found.

import { address, send } from "/api.js";
import { badge, h, note, since } from "/dom.js";
import { action, inNode, link, more, reason, row } from "/parts.js";
import { matches, search, table } from "/table.js";

const changes = [
  ["when", (one) => since(one.time), "", (one) => one.time], ["what", (one) => one.message, "", (one) => one.message],
  ["host", (one) => one.host_name ?? "", "word", (one) => one.host_name], ["author", (one) => one.author ?? "", "word", (one) => one.author],
  ["reason", (one) => one.reason ?? ""],
];

export const history = {
  path: "/history", nav: "History", title: "History", lead: "What was changed and by whom, and what was refused.",
  command: () => "signalbox cluster audit && signalbox access denials",
  watch: () => ["/v1/cluster/audit?limit=1000", "/v1/access/denials?limit=200"],
  draw([audit, denials], local) {
    const rows = [...(audit.items ?? [])].reverse().filter((one) => matches(local, one.message, one.author, one.reason, one.host_name));
    return h("div", {}, search(local, "Search the history"),
      table(rows, changes, { empty: "Nothing was changed.", key: (one) => one.id, local }),
      h("h2", {}, "Refused for want of a permission"), table(denials?.items ?? [], [
        ["when", (one) => since(one.time)], ["who", (one) => one.who ?? ""], ["asked for", (one) => one.request ?? ""],
        ["at", (one) => [one.path, one.object].filter(Boolean).join(" ")], ["from", (one) => one.address ?? ""],
      ], { empty: "Nothing was refused lately.", local, name: "denials" }), more(denials));
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
  path: "/backups", nav: "Backups", title: "Backups", lead: "The state of all shards as one file, and who has saved one.",
  command: () => "signalbox backup save FILE", watch: () => ["/v1/cluster/audit?limit=1000"],
  draw([audit], local) {
    const rows = [...(audit.items ?? [])].reverse().filter((one) => /backup|restore/i.test(`${one.event} ${one.message}`));
    return h("div", {},
      note("", h("p", {}, "A backup has all data, and the hashes of tokens. It needs the permission ", h("b", {}, "backup"), " on /."),
        h("p", { class: "next" }, "For regular ones: signalbox backup save, in a timer of the system.")),
      row(action("Save a backup", {
        title: "Save a backup", does: "This host collects the state of all shards while they go on, and the browser saves it as a file.",
        fields: [reason], carryOut: (values) => download(values.reason),
      }, false)),
      table(rows, changes, { empty: "No backup is on record.", key: (one) => one.id, local }));
  },
};

const pathOf = { semaphore: "/semaphore", endpoints: "/endpoints", config: "/config", rollout: "/rollout", process: "/process" };

const target = (one) => ({
  node: () => inNode(one.node), host: () => link("/hosts", {}, one.name), session: () => link("/session", { id: one.id, node: one.node }, one.name),
}[one.kind] ?? (() => link(pathOf[one.kind], { node: one.node, name: one.name }, one.name)))();

export const found = {
  path: "/search", title: "Search", lead: "Nodes, locks, endpoints, config, rollouts, processes, sessions and hosts.",
  heading: ({ query }) => query, command: () => "signalbox semaphore list && signalbox session list",
  watch: ({ query }) => [address("/v1/search", { query })],
  draw([hits], local) {
    return h("div", {}, table(hits.items ?? [], [
      ["kind", (one) => badge(one.kind), "", (one) => one.kind], ["name", target, "", (one) => one.name],
      ["node", (one) => (one.kind === "node" || !one.node ? "" : inNode(one.node)), "", (one) => one.node],
    ], { empty: "No name has this in it.", key: (one) => `${one.kind} ${one.node} ${one.id ?? one.name}`, local }),
    hits.more && note("", h("p", {}, "There are more than are listed: search for a longer part.")));
  },
};
