// Is it well?

import { healthTable } from "/health.js";
import { badge, h, span } from "/dom.js";
import { number, tile, tiles } from "/parts.js";
import { plot, plotted, short } from "/plot.js";
import { table } from "/table.js";
import { freeShare, gigabytes, hostTable, members } from "/pages/hosts.js";

/** The largest of what hosts have of something: each has the same shards, and some are behind. */
const most = (hosts, name) => Math.max(0, ...(hosts?.items ?? []).map((one) => (one.shards ?? [])
  .reduce((all, shard) => all + Number(shard[name] ?? 0), 0)));

/** How many more hosts can fail: a warning if none can. */
function canFail(cluster, spare) {
  if (!cluster.observed) return tile("not known", "more hosts can fail");
  if (spare < 0) return tile("no majority", "more hosts can fail", "bad");
  return tile(String(spare), spare === 1 ? "more host can fail" : "more hosts can fail", spare === 0 && "warn");
}

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

function plots(title, load, words) {
  const points = (load?.items ?? []).map((one) => ({ ...one, at: Date.parse(one.time) }));
  const shown = points.filter((one) => points.at(-1).at - one.at <= plotted);
  if (shown.length === 0) return null;
  const of = (name) => shown.map((one) => one[name] ?? 0), times = of("at");
  return h("div", {}, h("h2", {}, title), h("p", { class: "lead" }, words), h("div", { class: "plots" },
    plot("Requests", "/s", [["now", of("requests_per_second")]], times),
    plot("Answers", "ms", [["p50", of("p50_ms")], ["p99", of("p99_ms")]], times),
    plot("Commits", "ms", [["p99", of("commit_p99_ms")]], times)));
}

export const overview = {
  path: "/", nav: "Overview", title: "Overview", lead: "Health, failure tolerance, load, and the governor.",
  command: () => "signalbox check; signalbox cluster why",
  watch: () => ["/v1/cluster", "/v1/hosts", "/v1/why", "/v1/host/load", "/v1/cluster/load"],
  above: (local) => healthTable(local.healthIssues, local), // also where nothing else of the page is known
  draw([cluster, hosts, why, load, whole], local) {
    return h("div", {}, figures(cluster, hosts), loads(hosts),
      members(cluster).length > 1 && plots("All hosts", whole,
        "Requests of all hosts together, and the latency of the slowest host."),
      plots("This host", load, "The host that serves this page."),
      h("h2", {}, "The governor"),
      table([...(why?.steps ?? []), ...(why?.reasons ?? [])], [
        ["step or wait", (one) => [one.message, one.failures && badge(`failed ${one.failures} times`, "bad")]],
        ["for", (one) => span(one.age_ms ?? 0), "number"],
        ["next in", (one) => (one.retry_in_ms ?? one.remaining_ms ? span(one.retry_in_ms ?? one.remaining_ms) : ""), "number"],
        ["last error", (one) => one.last_error ?? ""],
      ], { empty: "Nothing to do.", local, name: "governor" }),
      h("h2", {}, "Hosts"), hostTable(cluster, hosts, local));
  },
};
