// The pages. Each says what it follows, the command line that shows the same, and how its answers are drawn.

import { address, change } from "/api.js";
import { ask } from "/ask.js";
import { badge, h, note, since, span, table } from "/dom.js";

const reason = { name: "reason", label: "Reason, for the history" };
const link = (route, parameters, text) => h("a", { href: address(route, parameters) }, text);
const session = (id) => (id ? link("/session", { id }, id) : h("span", { class: "dim" }, "none"));
const number = (text) => Number(text ?? 0).toLocaleString("en");
const client = (one) => [one?.name, one?.address].filter(Boolean).join(" · ") || "not known";

/** A search over the rows of a page. */
function search(local, words) {
  return h("div", { class: "row" }, h("input", {
    type: "search", placeholder: words, "aria-label": words, value: local.filter,
    oninput: (event) => { local.filter = event.target.value; local.redraw(); },
  }));
}

const matches = (local, ...texts) => texts.some((text) => (text ?? "").toLowerCase().includes(local.filter.toLowerCase()));

function action(word, what, harm = true) {
  return h("button", { type: "button", class: harm ? "harm" : null, onclick: () => ask({ harm, word, ...what }) }, word);
}

const tile = (figure, words, kind) => h("div", { class: "tile" }, h("b", {}, figure), h("span", {}, words), kind);

const overview = {
  path: "/", nav: "Overview", title: "Overview", lead: "Is it well, what can it lose, and what does the governor wait for.",
  command: () => "signalbox check && signalbox cluster why",
  watch: () => ["/v1/cluster", "/v1/hosts", "/v1/why"],
  draw([cluster, hosts, why]) {
    const alive = (cluster.hosts ?? []).filter((one) => one.alive).length;
    const shards = cluster.shards ?? [];
    const led = shards.filter((one) => one.leader).length;
    const tolerated = Math.min(...shards.map((one) => one.tolerated ?? 0));
    const sum = (name) => Math.max(0, ...(hosts?.items ?? []).map((one) => (one.shards ?? [])
      .reduce((all, shard) => all + Number(shard[name] ?? 0), 0)));
    return h("div", {},
      h("div", { class: "tiles" },
        tile(`${alive} / ${(cluster.hosts ?? []).length}`, "hosts that are heard"),
        tile(`${led} / ${shards.length}`, "shards with a leader"),
        tile(cluster.observed ? (tolerated < 0 ? "no majority" : String(tolerated)) : "not known", "hosts that may fail"),
        tile(number(sum("sessions")), "sessions"), tile(number(sum("semaphores")), "semaphores"),
        tile(number(sum("waiters")), "waiting")),
      (cluster.concerns ?? []).map((one) => note({ FAILURE: "bad", failure: "bad" }[one.severity] ?? "warn",
        h("p", {}, h("b", {}, one.text)), one.mend && h("p", {}, "What to do: ", h("code", {}, one.mend)))),
      !(cluster.concerns ?? []).length && note("", h("p", {}, badge("well", "good"), " Nothing is other than it should be.")),
      h("h2", {}, "What the governor does and waits for"),
      table([...(why?.steps ?? []), ...(why?.reasons ?? [])], [
        ["what", (one) => one.text], ["for", (one) => (one.age_ms || one.since_ms ? span(one.age_ms ?? one.since_ms) : ""), "number"],
        ["failed", (one) => one.last_error ?? ""],
      ], { empty: "It waits for nothing: all is as it should be." }),
      h("h2", {}, "Hosts"), hostTable(cluster, hosts));
  },
};

function standing(host) {
  const state = host.current?.state ?? "unknown";
  const kind = { online: host.alive === false ? "bad" : "good", offline: "warn", expelled: "bad" }[state] ?? "";
  return [badge(state, kind), host.cordoned && badge("cordoned", "warn"), host.alive === false && badge("silent", "bad")];
}

function hostTable(cluster, hosts, acts) {
  const of = (id) => (hosts?.items ?? []).find((one) => one.id === id) ?? {};
  const led = (id) => (cluster.shards ?? []).filter((one) => one.leader === id).length;
  const columns = [
    ["host", (one) => h("b", {}, one.name)], ["state", standing], ["failure domain", (one) => one.domain ?? ""],
    ["leads", (one) => String(led(one.id)), "number"], ["connections", (one) => number(of(one.id).connections), "number"],
    ["up for", (one) => (of(one.id).uptime_ms ? span(of(one.id).uptime_ms) : of(one.id).err ? "does not answer" : ""), "number"],
    ["version", (one) => one.version ?? ""], ["clients", (one) => h("code", {}, one.client_address ?? "")],
  ];
  if (acts) columns.push(["", acts]);
  return table(cluster.hosts ?? [], columns, { empty: "No host is on record.", key: (one) => one.id });
}

const locks = {
  path: "/locks", nav: "Locks", title: "Locks", lead: "Who waits for what, over all nodes, the longest wait first.",
  command: () => "signalbox who", watch: () => ["/v1/locks?idle=true&limit=10000"],
  draw([found], local) {
    const rows = (found.items ?? []).filter((one) => matches(local, one.node, one.name, client(one.owner?.client)));
    return h("div", {}, search(local, "Search nodes, names and owners"), table(rows, [
      ["semaphore", (one) => link("/semaphore", { node: one.node, name: one.name }, one.name)],
      ["node", (one) => one.node], ["waiting", (one) => number(one.waiter_count), "number"],
      ["longest wait", (one) => (one.waiter ? since(one.waiter.since) : ""), "number"],
      ["owned", (one) => `${number(one.count)} of ${one.ephemeral ? "all" : number(one.limit)}`, "number"],
      ["owner", (one) => (one.owner ? client(one.owner.client) : one.owner_count ? `${one.owner_count} owners` : h("span", { class: "dim" }, "free"))],
    ], { empty: local.filter ? "No name has this in it." : "There is no semaphore yet.", key: (one) => `${one.node} ${one.name}` }),
    found.more && note("", h("p", {}, "There are more than are listed.")));
  },
};

const semaphore = {
  path: "/semaphore", under: "/locks", title: "Semaphore", lead: "Owners and queue, as they change.",
  heading: (given) => given.name, command: (given) => `signalbox semaphore describe ${given.node} ${given.name}`,
  watch: (given) => [address("/v1/semaphore", given), address("/v1/semaphore/owners", given)],
  draw([found], local) {
    const { node, name } = local.given;
    const row = (kind) => [
      ["session", (one) => session(one.session_id)], ["client", (one) => client(one.client)],
      ["since", (one) => since(one.since), "number"], [kind, (one) => one.order_id, "number"],
      ["count", (one) => (one.count === "18446744073709551615" ? "all" : number(one.count)), "number"],
      ["data", (one) => h("code", {}, one.data ?? one.data_base64 ?? "")],
      ["", (one) => endSession(one.session_id)],
    ];
    return h("div", {},
      h("div", { class: "tiles" }, tile(number(found.count), found.ephemeral ? "owned" : `of ${number(found.limit)} owned`),
        tile(number(found.waiter_count), "waiting"), tile(found.revision ?? "0", "revision")),
      h("p", {}, "In ", h("code", {}, node), found.ephemeral && [" ", badge("ephemeral")]),
      (found.data || found.data_base64) && h("p", {}, "Data: ", h("code", {}, found.data ?? found.data_base64)),
      h("h2", {}, "Owners"), table(found.owners ?? [], row("fence"), { empty: "It is free.", key: (one) => one.order_id }),
      h("h2", {}, "Queue"), table(found.waiters ?? [], row("place"), { empty: "No session waits.", key: (one) => one.order_id }),
      h("h2", {}, "Actions"), h("div", { class: "row" }, action("Delete", {
        title: `Delete ${name}`, does: "Its owners lose it, and those who wait stop waiting. It cannot be taken back.",
        carryOut: () => change("/v1/semaphore/delete", { node, name, force: true }),
      }), found.ephemeral ? null : action("Resize", {
        title: `Another limit for ${name}`, does: "A higher one lets in those who wait. A lower one takes nothing from owners.",
        fields: [{ name: "limit", label: "Limit", value: found.limit }],
        carryOut: ({ limit }) => change("/v1/semaphore/resize", { node, name, limit }),
      }, false)));
  },
};

const endSession = (id) => action("End", {
  title: `End session ${id}`, does: "All that it owns is free at once, and its client is notified.",
  carryOut: () => change("/v1/session/destroy", { id }),
});

const sessions = {
  path: "/sessions", nav: "Sessions", title: "Sessions", lead: "Every session, with its client and what it holds.",
  command: () => "signalbox session list NODE", watch: () => ["/v1/sessions?limit=10000"],
  draw([found], local) {
    const rows = (found.items ?? []).filter((one) => matches(local, one.id, one.node, one.description, client(one.client)));
    return h("div", {}, search(local, "Search sessions, nodes and clients"), table(rows, [
      ["session", (one) => session(one.id)], ["node", (one) => one.node], ["client", (one) => client(one.client)],
      ["description", (one) => one.description ?? ""],
      ["state", (one) => (one.attached ? badge("attached", "good") : badge("detached", "warn"))],
      ["timeout", (one) => span(one.timeout_ms ?? 0), "number"], ["owns", (one) => number(one.owned), "number"],
      ["waits for", (one) => number(one.waiting), "number"], ["since", (one) => since(one.since), "number"],
    ], { empty: local.filter ? "No session has this in it." : "There is no session.", key: (one) => one.id }),
    found.more && note("", h("p", {}, "There are more than are listed.")));
  },
};

const oneSession = {
  path: "/session", under: "/sessions", title: "Session", lead: "What it owns, and what it waits for.",
  heading: (given) => `Session ${given.id}`, command: (given) => `signalbox session describe ${given.id}`,
  watch: (given) => [address("/v1/session", given)],
  draw([found]) {
    return h("div", {},
      h("p", {}, found.attached ? badge("attached", "good") : badge("detached", "warn"), ` ${client(found.client)}`),
      h("p", { class: "lead" }, found.description ?? "It has no description.", " Timeout ", span(found.timeout_ms ?? 0), ", since ", since(found.since), "."),
      h("h2", {}, "Holdings"), table(found.holdings ?? [], [
        ["name", (one) => one.name], ["kind", (one) => one.kind], ["part", (one) => one.role],
        ["order id", (one) => one.order_id, "number"], ["count", (one) => number(one.count), "number"],
        ["since", (one) => since(one.since), "number"],
      ], { empty: "It owns nothing and waits for nothing.", key: (one) => one.name }),
      h("h2", {}, "Actions"), h("div", { class: "row" }, endSession(found.id)));
  },
};

const hostActs = (one) => {
  const body = (values) => ({ host: one.name, reason: values.reason });
  const button = (word, route, does, harm) => action(word, {
    title: `${word} host ${one.name}`, does, fields: [reason], carryOut: (values) => change(route, body(values)),
  }, harm);
  return h("div", { class: "row" },
    one.target?.state === "offline" ? button("Undrain", "/v1/host/undrain", "It takes part again.", false)
      : button("Drain", "/v1/host/drain", "It hands over all that it leads and votes in, and goes offline.", true),
    one.cordoned ? button("Uncordon", "/v1/host/uncordon", "It may get replicas and votes again.", false)
      : button("Cordon", "/v1/host/cordon", "It keeps what it has, and gets no more.", false),
    button("Expel", "/v1/host/expel", "It leaves for ever: its replicas are removed everywhere.", true));
};

const hosts = {
  path: "/hosts", nav: "Hosts", title: "Hosts", lead: "States, failure domains, replicas, and what comes next.",
  command: () => "signalbox host list && signalbox cluster plan", watch: () => ["/v1/cluster", "/v1/hosts", "/v1/plan"],
  draw([cluster, all, plan]) {
    const name = (id) => (cluster.hosts ?? []).find((one) => one.id === id)?.name ?? id;
    return h("div", {}, hostTable(cluster, all, hostActs), h("h2", {}, "Shards"),
      table(cluster.shards ?? [], [
        ["shard", (one) => (one.id ? one.id : "meta")],
        ["leader", (one) => (one.leader ? name(one.leader) : badge("none", "bad"))],
        ["replicas", (one) => (one.replicas ?? []).map((r) => `${name(r.host)} (${r.role})`).join(", ")],
        ["may lose", (one) => (cluster.observed ? String(one.tolerated ?? 0) : "not known"), "number"],
      ], { key: (one) => one.id ?? "meta" }),
      h("h2", {}, "What comes next"), table(plan?.steps ?? [], [["step", (one) => one.text], ["rule", (one) => one.rule ?? ""]],
        { empty: "Nothing is to be changed." }));
  },
};

const history = {
  path: "/history", nav: "History", title: "History", lead: "What was changed and by whom, and what was refused.",
  command: () => "signalbox cluster audit && signalbox access denials",
  watch: () => ["/v1/audit?limit=1000", "/v1/denials?limit=200"],
  draw([audit, denials], local) {
    const rows = [...(audit.items ?? [])].reverse().filter((one) => matches(local, one.text, one.by, one.why, one.host_name));
    return h("div", {}, search(local, "Search the history"), table(rows, [
      ["when", (one) => since(one.at), "number"], ["what", (one) => one.text], ["host", (one) => one.host_name ?? ""],
      ["by", (one) => one.by ?? ""], ["why", (one) => one.why ?? ""],
    ], { empty: "Nothing was changed.", key: (one) => one.number }),
    h("h2", {}, "Refused for want of a right"), table(denials?.items ?? [], [
      ["when", (one) => since(one.at), "number"], ["who", (one) => one.who ?? ""], ["asked for", (one) => one.request ?? ""],
      ["at", (one) => [one.path, one.object].filter(Boolean).join(" ")], ["from", (one) => one.address ?? ""],
    ], { empty: "Nothing was refused lately." }));
  },
};

export const pages = [overview, locks, semaphore, sessions, oneSession, hosts, history];
