// One host, and one shard: replicas, leader, lag, disk, requests and steps.

import { address } from "/api.js";
import { badge, h, note, since, span } from "/dom.js";
import { command, dim, hostLink, number, row, shardLink, tile, tiles } from "/parts.js";
import { plots, short } from "/plot.js";
import { table } from "/table.js";
import { canFail, freeShare, gigabytes, hostActs, hostName as nameOf, leaderTable, move, replicaState, shardState, standing } from "/pages/hosts.js";

/** What a host says about its replica of a shard. */
const ofShard = (status, id) => (id === "0" ? status?.meta_shard : (status?.shards ?? []).find((one) => one.id === id));

/** How far a replica is behind its leader, as far as the governor sees it. */
const lag = (r) => (r.snapshot_percent ? `snapshot ${r.snapshot_percent} %` : r.observed ? span(r.behind_ms ?? 0) : dim("not known"));

/** The columns of a replica: rows are {shard, r, status}. */
const replicaColumns = [
  ["lag", ({ r }) => lag(r), "number", ({ r }) => r.behind_ms ?? 0],
  ...[["applied entry", "applied_index"], ["to apply", "commit_lag"]].map(([head, field]) => {
    const figure = ({ shard, status }) => ofShard(status, shard.id)?.[field];
    return [head, (one) => (one.status && !one.status.error ? number(figure(one)) : dim("–")), "number", (one) => Number(figure(one) ?? 0)];
  }),
];

/** The issues, open steps and next steps of a host or of a shard. */
const work = (issues, why, plan, of, local) => [
  issues.map((one) => note({ critical: "bad", warning: "warn" }[one.severity] ?? "", h("p", {}, one.message), h("p", { class: "next" }, one.since && ["For ", since(one.since), ". "], "What to do: ", one.hint))),
  h("h2", {}, "Steps"), table([...(why?.steps ?? []), ...(plan?.steps ?? []).filter((one) => !(why?.steps ?? []).some(({ subject }) => subject === one.subject))].filter(of), [
    ["step", (one) => one.message], ["state", (one) => (Number(one.id) ? badge("open", "warn") : badge("next"))],
    ["age", (one) => (Number(one.id) ? span(one.age_ms ?? 0) : ""), "number"], ["last error", (one) => one.last_error ?? ""],
  ], { empty: "No steps.", local, name: "steps" }),
];

export const oneHost = {
  path: "/host", under: "/hosts", title: "Host", lead: "Replicas, requests, disk and steps.",
  heading: (given) => given.name, command: ({ name }) => command`signalbox host show ${name}`,
  watch: ({ name }) => ["/v1/cluster", "/v1/hosts", "/v1/why", "/v1/cluster/plan", address("/v1/host/load", { host: name })],
  draw([cluster, all, why, plan, past], local) {
    const one = (cluster.hosts ?? []).find(({ name }) => name === local.given.name);
    if (!one) return h("p", { class: "empty" }, "The host does not exist.");
    const status = (all?.items ?? []).find(({ id }) => id === one.id) ?? {}, { load } = status;
    const held = (cluster.shards ?? []).flatMap((shard) => (shard.replicas ?? []).filter((r) => r.host === one.id && r.role !== "removed")
      .map((r) => ({ shard, r, status })));
    const low = load?.disk_total_bytes && freeShare(load) < 0.1;
    return h("div", {},
      h("p", {}, standing(one), one.domain && [" in ", h("code", {}, one.domain)], " at ", h("code", {}, one.client_address ?? ""),
        one.version && ` with version ${one.version}`, status.uptime_ms && `, up for ${span(status.uptime_ms)}`,
        one.round_trip_ms && `, round trip ${one.round_trip_ms} ms`, "."),
      hostActs(one), status.write_rejection && note("bad", h("p", {}, status.write_rejection)),
      load ? tiles(tile(short(load.requests_per_second ?? 0), "requests a second"), tile(short(load.failed_per_second ?? 0), "failed requests a second", load.failed_per_second > 0 && "warn"),
        tile(short(load.p99_ms ?? 0), "ms, p99 latency"), tile(short(load.commit_p99_ms ?? 0), "ms, p99 commit latency"),
        load.disk_total_bytes && tile(gigabytes(load.disk_free_bytes), `of ${gigabytes(load.disk_total_bytes)} GB free`, low && "warn"),
        tile(number(status.connections), "connections"), tile(number(status.sessions), "attached sessions"))
        : note("warn", h("p", {}, "The host does not report its load", status.error && `: ${status.error}`, ".")),
      plots(load ? "Load" : "Last known load", past, "Requests and latency."),
      work((local.healthIssues?.items ?? []).filter((issue) => issue.host === one.name), why, plan, (step) => step.host === one.id || step.subject === `host/${one.name}`, local),
      h("h2", {}, "Replicas"), table(held, [
        ["shard", ({ shard }) => shardLink(shard), "word", ({ shard }) => Number(shard.id)],
        ["role", ({ r }) => replicaState(one, r, r.role), "word", ({ r }) => r.role],
        ["leader", ({ shard }) => (shard.leader === one.id ? badge("this host", "good") : shard.leader ? hostLink(nameOf(cluster, shard.leader)) : badge("none", "bad")), "word", ({ shard }) => shard.leader ?? ""],
        ...replicaColumns,
      ], { empty: "The host has no replicas.", key: ({ shard }) => shard.id, local, name: "replicas" }));
  },
};

export const oneShard = {
  path: "/shard", under: "/hosts", title: "Shard", lead: "Leader, replicas and steps.",
  heading: ({ id }) => (id === "0" ? "Meta shard" : `Shard ${id}`), command: () => "signalbox shard list",
  watch: () => ["/v1/cluster", "/v1/hosts", "/v1/why", "/v1/cluster/plan", "/v1/cluster/leaders"],
  draw([cluster, all, why, plan, leaders], local) {
    const shard = (cluster.shards ?? []).find(({ id }) => id === local.given.id);
    if (!shard) return h("p", { class: "empty" }, "The shard does not exist.");
    const statusOf = (id) => (all?.items ?? []).find((one) => one.id === id);
    const held = (shard.replicas ?? []).map((r) => ({ shard, r, status: statusOf(r.host), host: (cluster.hosts ?? []).find(({ id }) => id === r.host) ?? {} }));
    const led = ofShard(statusOf(shard.leader), shard.id) ?? {};
    const load = (words) => ({ status }) => (status?.load ? words(status.load) : dim("–"));
    return h("div", {},
      h("p", {}, shardState(cluster, shard), shard.leader ? [" led by ", hostLink(nameOf(cluster, shard.leader)), shard.leader_age_ms && [" for ", span(shard.leader_age_ms)]] : "", "."),
      row(move(cluster)(shard)),
      tiles(tile(shard.leader ? nameOf(cluster, shard.leader) : "none", "leader", !shard.leader && "bad"), tile(number(led.term), "term"),
        tile(`${shard.voters_live ?? 0} / ${shard.voters_desired ?? 0}`, "live voters", (shard.voters_live ?? 0) < (shard.voters_desired ?? 0) && "warn"),
        canFail(cluster, shard.failure_tolerance ?? 0),
        ...["sessions", "semaphores", "rollouts", "processes"].map((name) => tile(number(led[name]), name)), tile(number(led.waiters), "waiting")),
      work((local.healthIssues?.items ?? []).filter((issue) => (issue.shards ?? []).includes(shard.id)), why, plan, (step) => step.subject === `shard/${shard.id}`, local),
      h("h2", {}, "Replicas"), table(held, [
        ["host", ({ host, r }) => (host.name ? hostLink(host.name) : r.host), "word", ({ host }) => host.name],
        ["state", ({ host, r }) => replicaState(host, r, host.alive === false ? r.role : shard.leader === r.host ? "leader" : r.role), "word", ({ host }) => String(host.alive)], ...replicaColumns,
        ["requests", load((one) => `${short(one.requests_per_second ?? 0)} /s`), "number", ({ status }) => status?.load?.requests_per_second ?? 0],
        ["commit p99", load((one) => `${short(one.commit_p99_ms ?? 0)} ms`), "number", ({ status }) => status?.load?.commit_p99_ms ?? 0],
        ["disk free", load((one) => one.disk_total_bytes && `${gigabytes(one.disk_free_bytes)} GB`), "number", ({ status }) => Number(status?.load?.disk_free_bytes ?? 0)],
      ], { key: ({ r }) => r.host, local, name: "replicas" }),
      leaderTable(cluster, (leaders?.items ?? []).filter((one) => one.shard === shard.id), local));
  },
};
