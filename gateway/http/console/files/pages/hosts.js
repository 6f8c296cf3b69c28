// The hosts, and what the governor does with them.

import { badge, h, since, span } from "/dom.js";
import { act, action, dim, hostLink, number, reason, row, shardLink, tile } from "/parts.js";
import { short } from "/plot.js";
import { table } from "/table.js";

export const gigabytes = (bytes) => (Number(bytes ?? 0) / 2 ** 30).toFixed(1);
export const freeShare = ({ disk_free_bytes: free = 0, disk_total_bytes: total }) => Number(free) / Number(total);

/** The hosts that belong to the cluster. One that was expelled is on record for a while, and counts for nothing. */
export const members = (cluster) => (cluster.hosts ?? []).filter((one) => one.current?.state !== "expelled");

export function standing(host) {
  const state = host.current?.state ?? "unknown", wanted = host.target?.state ?? state;
  const kind = { online: host.alive === false ? "bad" : "good", offline: "warn", expelled: "bad" }[state] ?? "";
  return [badge(state, kind), wanted !== state && badge(`becomes ${wanted}`, "warn"), host.cordoned && badge("cordoned", "warn"),
    host.alive === false && state !== "expelled" && badge(`silent for ${span(host.last_contact_ms ?? 0)}`, "bad")];
}

export function hostTable(cluster, all, local, acts) {
  const of = (id) => (all?.items ?? []).find((one) => one.id === id) ?? {};
  const loadOf = (one, words) => { const { load } = of(one.id); return load ? words(load) : dim("–"); };
  const led = (id) => (cluster.shards ?? []).filter((one) => one.leader === id).length;
  const columns = [
    ["host", (one) => h("div", {}, hostLink(one.name), h("code", { class: "below" }, one.client_address ?? "")), "word", (one) => one.name],
    ["state", standing, "", (one) => one.current?.state],
    ["leads", (one) => String(led(one.id)), "number", (one) => led(one.id)],
    ["requests", (one) => loadOf(one, (load) => `${short(load.requests_per_second ?? 0)} /s`), "number", (one) => of(one.id).load?.requests_per_second ?? 0],
    ["p99", (one) => loadOf(one, (load) => `${short(load.p99_ms ?? 0)} ms`), "number", (one) => of(one.id).load?.p99_ms ?? 0],
    ["disk free", (one) => loadOf(one, (load) => load.disk_total_bytes && `${gigabytes(load.disk_free_bytes)} GB`), "number", (one) => Number(of(one.id).load?.disk_free_bytes ?? 0)],
    ["connections", (one) => number(of(one.id).connections), "number", (one) => of(one.id).connections ?? 0],
    ["uptime", (one) => (of(one.id).uptime_ms ? span(of(one.id).uptime_ms) : dim("–")), "number", (one) => of(one.id).uptime_ms ?? 0],
    ["version", (one) => one.version ?? "", "word", (one) => one.version],
  ];
  if ((cluster.hosts ?? []).some((one) => one.domain)) columns.splice(2, 0, ["failure domain", (one) => one.domain ?? ""]);
  if (acts) columns.push(["", acts, "acts"]);
  return table(members(cluster), columns, { empty: "No host is recorded.", key: (one) => one.id, local, name: "hosts" });
}

export const hostActs = (one) => {
  const button = (word, does, harm) => action(word, {
    title: `${word} host ${one.name}`, does, fields: [reason], carryOut: act(`/v1/host/${word.toLowerCase()}`, { host: one.name }),
  }, harm);
  if (one.target?.state === "expelled") return "";
  return row(
    one.target?.reason === "drained" ? button("Undrain", "The host becomes ONLINE again.", false)
      : button("Drain", "The host hands over its leaderships and votes, and goes OFFLINE.", true),
    one.cordoned ? button("Uncordon", "The host may get replicas and votes again.", false)
      : button("Cordon", "The host gets no further replicas, votes and leaderships.", false),
    button("Expel", "Permanent: all replicas are removed from the host. Refused while the host is online.", true));
};

const cancel = (step) => action("Cancel", {
  title: `Cancel step ${step.id}`, does: `${step.message}. Completed work of the step stays.`, fields: [reason],
  carryOut: act("/v1/cluster/step/cancel", { id: step.id }),
});

const policyText = (p) => [
  `${p.voters || "as many as fit"} voters`, `a host is offline after ${span(p.offline_after_ms ?? 0)} without contact`,
  p.replace_after_ms ? `a failed voter is replaced after ${span(p.replace_after_ms)}` : "a failed voter is not replaced",
  `a data shard is on ${p.replicas ? `${p.replicas} host${p.replicas > 1 ? "s" : ""}` : "all hosts"}`,
].join(", ");

const policy = (p) => row(h("span", {}, policyText(p), "."), action("Change", {
  title: "Change the policy", does: "The governor applies the policy at once.",
  fields: [
    { name: "voters", label: "Voters per shard (0: derived from the number of hosts)", kind: "number", value: p.voters ?? 0 },
    { name: "offline", label: "Seconds without contact until a host is offline", kind: "number", value: (p.offline_after_ms ?? 0) / 1000 },
    {
      name: "replace", label: "Seconds until a failed voter is replaced (0: never)", kind: "number",
      value: (p.replace_after_ms ?? 0) / 1000,
    },
    { name: "replicas", label: "Replicas per data shard (0: one on every host; 1: a lost host loses its shards)", kind: "number", value: p.replicas ?? 0 },
    reason,
  ],
  carryOut: ({ voters, offline, replace, replicas: on, reason: why }) => act("/v1/cluster/policy/set", {
    voters: Number(voters), offline_after_ms: Math.round(offline * 1000), replace_after_ms: Math.round(replace * 1000),
    replicas: Number(on), force: Number(on) === 1, reason: why,
  })({}),
}, false));

const isMeta = (shard) => shard.id === "0";

/** A replica with what is amiss with it, after the words. */
export function replicaState(host, r, words) {
  const silent = host.alive === false, percent = r.snapshot_percent ? ` ${r.snapshot_percent} %` : "";
  return badge(`${words}${percent}${silent ? ", silent" : ""}`, silent ? "bad" : r.role === "voter" ? "good" : "warn");
}

const replicas = (all) => (shard) => (shard.replicas ?? []).map((r) => {
  const host = all.find((one) => one.id === r.host) ?? {};
  return replicaState(host, r, `${host.name ?? r.host} ${r.role}`);
});

/** How a shard is, as far as the governor sees it. */
export function shardState(cluster, { replicas: all = [], voters_desired: wanted = 0, voters = 0, failure_tolerance: tolerated = 0, leader, voters_live: live = 0 }) {
  if (!cluster.observed) return dim("not known");
  if (tolerated < 0) return badge("no majority", "bad");
  if (!leader) return badge("no leader", "bad");
  if (voters < wanted) return badge(`short by ${wanted - voters}`, "warn");
  if (live < wanted) return badge(`${live} of ${wanted} voters live`, "warn");
  return all.some(filling) ? badge("filling", "warn") : badge("complete", "good");
}

const filling = (r) => r.role === "learner" && (!r.observed || (r.behind_ms ?? 0) > 1000);

/** How many more hosts can fail: a warning if none can. */
export function canFail(cluster, spare) {
  if (!cluster.observed) return tile("not known", "more hosts can fail");
  if (spare < 0) return tile("no majority", "more hosts can fail", "bad");
  return tile(String(spare), spare === 1 ? "more host can fail" : "more hosts can fail", spare === 0 && "warn");
}

/** Which data shards each host has, where a shard is on a part of the hosts. */
function placeTable(cluster, local) {
  const data = (cluster.shards ?? []).filter((shard) => !isMeta(shard));
  const held = new Map(members(cluster).map((one) => [one.id, []]));
  for (const shard of data) {
    for (const r of shard.replicas ?? []) if (r.role === "voter" || r.role === "learner") held.get(r.host)?.push({ shard, r });
  }
  const leads = (one) => held.get(one.id).filter(({ shard }) => shard.leader === one.id).length;
  const shown = (one) => ({ shard, r }) => {
    const amiss = [r.role === "learner" && "learner", filling(r) && `${r.snapshot_percent ?? 0} %`,
      (shard.voters ?? 0) < (shard.voters_desired ?? 0) && "short"].filter(Boolean);
    const words = [shard.id, shard.leader === one.id && "leads", ...amiss].filter(Boolean).join(" ");
    return badge(words, one.alive === false ? "bad" : amiss.length ? "warn" : "good");
  };
  return table(members(cluster), [
    ["host", (one) => hostLink(one.name), "word", (one) => one.name],
    ["replicas", (one) => String(held.get(one.id).length), "number", (one) => held.get(one.id).length],
    ["leads", (one) => String(leads(one)), "number", leads],
    ["data shards", (one) => held.get(one.id).map(shown(one))],
  ], { key: (one) => one.id, local, name: "places" });
}

export const move = (cluster) => (shard) => action("Move leader", {
  title: `Transfer the leadership of ${isMeta(shard) ? "the meta shard" : `shard ${shard.id}`}`, does: "Changes wait for some milliseconds.",
  fields: [{ name: "host", label: "Host", choices: candidates(cluster, shard) }, reason],
  carryOut: act("/v1/shard/transfer-leader", { shard: shard.id }),
}, false);

/** Whether a host is online, and is to be: a host that has just started is online again only once its state has the new epoch. */
const isOnline = ({ alive, current, target }) => alive !== false && current?.state === "online" && target?.state === "online" && current.epoch === target.epoch;

/** The hosts that may become the leader: the other voters that are online. */
const candidates = (cluster, { replicas: all = [], leader }) => all.filter((r) => r.role === "voter" && r.host !== leader)
  .map((r) => (cluster.hosts ?? []).find((one) => one.id === r.host)).filter((one) => one && isOnline(one)).map((one) => one.name);

export const hostName = (cluster, id) => (cluster.hosts ?? []).find((one) => one.id === id)?.name ?? id;

/** The leader changes that the asked host noticed, the newest first. */
export const leaderTable = (cluster, changes, local) => [h("h2", {}, "Leader changes"), table(changes.toReversed(), [
  ["when", (one) => since(one.time), "", (one) => one.time], ["shard", shardOf, "word", (one) => Number(one.shard)],
  ["leader", (one) => hostLink(hostName(cluster, one.leader)), "word", (one) => hostName(cluster, one.leader)],
  ["term", (one) => number(one.term), "number", (one) => Number(one.term)],
], { empty: "The host that serves this page has noticed no leader change since its start.", key: (one) => `${one.shard} ${one.term}`, local, name: "leaders" })];

const shardOf = (one) => shardLink({ id: one.shard });

export const hosts = {
  path: "/hosts", nav: "Hosts", title: "Hosts", lead: "States, failure domains, replicas, and the next governor steps.",
  command: () => "signalbox host list && signalbox cluster plan",
  watch: () => ["/v1/cluster", "/v1/hosts", "/v1/cluster/plan", "/v1/why", "/v1/join-tokens", "/v1/cluster/leaders"],
  draw([cluster, all, plan, why, tokens, leaders], local) {
    const name = (id) => hostName(cluster, id);
    return h("div", {}, hostTable(cluster, all, local, hostActs),
      h("h2", {}, "Open steps"), table(why?.steps ?? [], [
        ["step", (one) => one.message], ["age", (one) => span(one.age_ms ?? 0), "number"], ["last error", (one) => one.last_error ?? ""],
        ["", cancel, "acts"],
      ], { empty: "No step is open.", key: (one) => one.id, local, name: "steps" }),
      h("h2", {}, "Next steps"), table(plan?.steps ?? [], [["step", (one) => one.message], ["rule", (one) => one.rule ?? ""]],
        { empty: "Nothing to do.", local, name: "plan" }),
      h("h2", {}, "Shards"), table(cluster.shards ?? [], [
        ["shard", shardLink, "word"], ["leader", (one) => (one.leader ? hostLink(name(one.leader)) : badge("none", "bad"))],
        ["state", (one) => shardState(cluster, one)], ["replicas", replicas(cluster.hosts ?? [])],
        ["failure tolerance", (one) => (cluster.observed ? String(one.failure_tolerance ?? 0) : "not known"), "number"], ["", move(cluster), "acts"],
      ], { key: (one) => one.id, local, name: "shards" }),
      cluster.policy?.replicas && [h("h2", {}, "Shards by host"), placeTable(cluster, local)],
      leaders && leaderTable(cluster, leaders.items ?? [], local),
      h("h2", {}, "Policy"), policy(cluster.policy ?? {}),
      tokens && [h("h2", {}, "Join tokens"), table(tokens.items ?? [], [
        ["token", (one) => h("code", {}, one.id)], ["author", (one) => one.author ?? ""], ["expires in", (one) => span(one.expires_in_ms ?? 0), "number"],
        ["used by", (one) => one.used ?? ""],
        ["", (one) => action("Revoke", {
          title: `Revoke join token ${one.id}`, does: "No host can join with the token any more.", fields: [reason],
          carryOut: act("/v1/join-token/revoke", { id: one.id }),
        }), "acts"],
      ], {
        empty: "No join tokens. Create one with signalbox host join-token create.", key: (one) => one.id, local, name: "tokens",
      })]);
  },
};
