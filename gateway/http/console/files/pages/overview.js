// Is it well?

import { healthTable } from "/health.js";
import { badge, h, span } from "/dom.js";
import { dim, inNode, number, tile, tiles } from "/parts.js";
import { plots, short } from "/plot.js";
import { table } from "/table.js";
import { canFail, freeShare, gigabytes, hostTable, members } from "/pages/hosts.js";

/** The largest of what hosts have of something: each has the same shards, and some are behind. */
const most = (hosts, name) => Math.max(0, ...(hosts?.items ?? []).map((one) => (one.shards ?? [])
  .reduce((all, shard) => all + Number(shard[name] ?? 0), 0)));

function figures(cluster, hosts) {
  const all = members(cluster), shards = cluster.shards ?? [];
  const alive = all.filter((one) => one.alive).length, led = shards.filter((one) => one.leader).length;
  const spare = Math.min(...shards.map((one) => one.failure_tolerance ?? 0));
  return tiles(
    cluster.observed ? tile(`${alive} / ${all.length}`, "live hosts", alive < all.length && "warn") : tile("not known", "live hosts"),
    tile(`${led} / ${shards.length}`, "shards with a leader", led < shards.length && "bad"), canFail(cluster, spare),
    tile(number(most(hosts, "sessions")), "sessions"), tile(number(most(hosts, "semaphores")), "semaphores"),
    tile(number(most(hosts, "waiters")), "waiting"));
}

/** What all hosts do together, the slowest of them, and the fullest disk. */
function loads(hosts) {
  const all = (hosts?.items ?? []).map((one) => one.load).filter(Boolean);
  if (all.length === 0) return null;
  const fullest = all.filter((one) => one.disk_total_bytes).sort((a, b) => freeShare(a) - freeShare(b))[0];
  return tiles(
    tile(short(all.reduce((sum, one) => sum + (one.requests_per_second ?? 0), 0)), "requests a second"),
    tile(short(all.reduce((sum, one) => sum + (one.failed_per_second ?? 0), 0)), "failed requests a second"),
    tile(short(Math.max(...all.map((one) => one.p99_ms ?? 0))), "ms, p99 of the slowest host"),
    fullest && tile(gigabytes(fullest.disk_free_bytes), "GB free on the fullest disk"));
}

const rate = (one) => `${short(one.requests_per_second ?? 0)} /s`;

/** Who sends the requests of the last minute, and in which nodes. What is not listed is in the last row. */
function trafficTable(traffic, what, list = [], columns, local) {
  const all = traffic.requests_per_second ?? 0, rest = all - list.reduce((sum, one) => sum + (one.requests_per_second ?? 0), 0);
  const rows = [...list, ...(rest > all / 1000 ? [{ rest: true, requests_per_second: rest }] : [])];
  return h("section", {}, h("h2", {}, `Requests by ${what}`),
    h("p", { class: "lead" }, `Over the last minute, from ${traffic.hosts ?? 0} of ${traffic.hosts_asked ?? 0} hosts.`), table(rows, [
    ...columns, ["requests", rate, "number", (one) => one.requests_per_second ?? 0],
    ["share", (one) => `${Math.round((100 * (one.requests_per_second ?? 0)) / all)} %`, "number"],
  ], { empty: "No requests in the last minute.", key: (one) => JSON.stringify({ ...one, requests_per_second: 0 }), local, name: `${what}s` }));
}

function traffics(traffic, local) {
  return h("div", {},
    trafficTable(traffic, "client", traffic.clients, [
      ["client", (one) => (one.rest ? dim("other clients") : one.name || dim("a client without a name")), "", (one) => one.name ?? ""],
      ["principal", (one) => one.principal ?? "", "", (one) => one.principal ?? ""], ["address", (one) => h("code", {}, one.address ?? ""), "", (one) => one.address ?? ""],
    ], local),
    trafficTable(traffic, "node", traffic.nodes, [
      ["node", (one) => (one.rest ? dim("other nodes, and requests without a node") : inNode(one.node)), "", (one) => one.node ?? ""],
    ], local));
}

export const overview = {
  path: "/", nav: "Overview", title: "Overview", lead: "Health, failure tolerance, load, and the governor.",
  command: () => "signalbox check; signalbox cluster why",
  watch: () => ["/v1/cluster", "/v1/hosts", "/v1/why", "/v1/host/load", "/v1/cluster/load", "/v1/cluster/traffic"],
  above: (local) => healthTable(local.healthIssues, local), // also where nothing else of the page is known
  draw([cluster, hosts, why, load, whole, traffic], local) {
    return h("div", {}, figures(cluster, hosts), loads(hosts),
      members(cluster).length > 1 && plots("All hosts", whole,
        "Requests of all hosts together, and the latency of the slowest host."),
      plots("This host", load, "The host that serves this page."),
      traffic && traffics(traffic, local),
      h("h2", {}, "The governor"),
      table([...(why?.steps ?? []), ...(why?.reasons ?? [])], [
        ["step or reason", (one) => [one.message, one.failures && badge(`failed ${one.failures} times`, "bad")]],
        ["age", (one) => span(one.age_ms ?? 0), "number"],
        ["retry in", (one) => (one.retry_in_ms ?? one.remaining_ms ? span(one.retry_in_ms ?? one.remaining_ms) : ""), "number"],
        ["last error", (one) => one.last_error ?? ""],
      ], { empty: "Nothing to do.", local, name: "governor" }),
      h("h2", {}, "Hosts"), hostTable(cluster, hosts, local));
  },
};
