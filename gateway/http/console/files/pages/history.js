// What was done, what was refused, the backups, and what a search has found.

import { address, send } from "/api.js";
import { badge, h, note, since } from "/dom.js";
import { action, inNode, link, more, reason, row } from "/parts.js";
import { matches, search, table } from "/table.js";

const changes = [
  ["when", (one) => since(one.at), "", (one) => one.at], ["what", (one) => one.text, "", (one) => one.text],
  ["host", (one) => one.host_name ?? "", "word", (one) => one.host_name], ["by", (one) => one.by ?? "", "word", (one) => one.by],
  ["why", (one) => one.why ?? ""],
];

export const history = {
  path: "/history", nav: "History", title: "History", lead: "What was changed and by whom, and what was refused.",
  command: () => "signalbox cluster audit && signalbox access denials",
  watch: () => ["/v1/audit?limit=1000", "/v1/denials?limit=200"],
  draw([audit, denials], local) {
    const rows = [...(audit.items ?? [])].reverse().filter((one) => matches(local, one.text, one.by, one.why, one.host_name));
    return h("div", {}, search(local, "Search the history"),
      table(rows, changes, { empty: "Nothing was changed.", key: (one) => one.number, local }),
      h("h2", {}, "Refused for want of a right"), table(denials?.items ?? [], [
        ["when", (one) => since(one.at)], ["who", (one) => one.who ?? ""], ["asked for", (one) => one.request ?? ""],
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
  command: () => "signalbox backup save FILE", watch: () => ["/v1/audit?limit=1000"],
  draw([audit], local) {
    const rows = [...(audit.items ?? [])].reverse().filter((one) => /backup|restore|generation/i.test(`${one.event} ${one.text}`));
    return h("div", {},
      note("", h("p", {}, "A backup has all data, and the hashes of tokens. It needs the right ", h("b", {}, "backup"), " on /."),
        h("p", { class: "next" }, "For regular ones: signalbox backup save, in a timer of the system.")),
      row(action("Save a backup", {
        title: "Save a backup", does: "This host collects the state of all shards while they go on, and the browser saves it as a file.",
        fields: [reason], carryOut: (values) => download(values.reason),
      }, false)),
      table(rows, changes, { empty: "No backup is on record.", key: (one) => one.number, local }));
  },
};

const pathOf = { semaphore: "/semaphore", endpoints: "/endpoints", config: "/config", rollout: "/rollout", process: "/process" };

const target = (one) => ({
  node: () => inNode(one.node), host: () => link("/hosts", {}, one.name), session: () => link("/session", { id: one.id, node: one.node }, one.name),
}[one.what] ?? (() => link(pathOf[one.what], { node: one.node, name: one.name }, one.name)))();

export const found = {
  path: "/search", title: "Search", lead: "Nodes, locks, endpoints, config, rollouts, processes, sessions and hosts.",
  heading: ({ text }) => text, command: () => "signalbox semaphore list && signalbox session list",
  watch: ({ text }) => [address("/v1/search", { text })],
  draw([hits], local) {
    return h("div", {}, table(hits.items ?? [], [
      ["what", (one) => badge(one.what), "", (one) => one.what], ["name", target, "", (one) => one.name],
      ["node", (one) => (one.what === "node" || !one.node ? "" : inNode(one.node)), "", (one) => one.node],
    ], { empty: "No name has this in it.", key: (one) => `${one.what} ${one.node} ${one.id ?? one.name}`, local }),
    hits.more && note("", h("p", {}, "There are more than are listed: search for a longer part.")));
  },
};
