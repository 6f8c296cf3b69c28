// Which shard has which slots, and the moves between shards.

import { address } from "/api.js";
import { badge, h, note, since, span, svg } from "/dom.js";
import { act, action, dim, number, reason, row, shardLink, tile, tiles } from "/parts.js";
import { hostName } from "/pages/hosts.js";
import { table } from "/table.js";

const across = 64, size = 10, slotCount = 4096;

/** A colour for a shard or a host: neighbours in number differ most. */
const colour = (n) => `hsl(${Math.round((n * 137.5) % 360)} 55% 55%)`;

/** The parts of a range of slots on each line of the map. */
function* lines(first, last) {
  for (let from = first; from <= last;) {
    const to = Math.min(last, from - (from % across) + across - 1);
    yield [from, to];
    from = to + 1;
  }
}

/** All slots, a cell each, in the colour of their shard, or of the host that leads it. A moving slot has a frame. */
function map(all, cluster, byHost) {
  const leader = (shard) => (cluster?.shards ?? []).find((one) => one.id === shard)?.leader;
  const cells = (all.ranges ?? []).flatMap(({ first, last, shard }) => {
    const host = leader(shard);
    const words = `slots ${first} to ${last}: shard ${shard}, ${host ? `led by ${hostName(cluster, host)}` : "without a leader"}`;
    return [...lines(Number(first), Number(last))].map(([from, to]) => svg("rect", {
      x: (from % across) * size, y: Math.floor(from / across) * size, width: (to - from + 1) * size, height: size,
      fill: byHost ? (host ? colour(Number(host)) : "transparent") : colour(Number(shard)),
    }, svg("title", {}, words)));
  });
  const moving = (all.moves ?? []).filter((one) => one.into).map((one) => svg("rect", {
    class: "moving", x: (one.slot % across) * size + 1, y: Math.floor(one.slot / across) * size + 1, width: size - 2, height: size - 2,
  }, svg("title", {}, `slot ${one.slot} moves from shard ${one.from} to shard ${one.into}`)));
  return svg("svg", {
    class: "slots", viewBox: `0 0 ${across * size} ${(slotCount / across) * size}`, role: "img",
    "aria-label": `${slotCount} slots by ${byHost ? "host" : "shard"}; ${moving.length} are moving`,
  }, cells, moving);
}

const views = (local) => row(["shard", "host"].map((one) => h("button", {
  type: "button", class: "act", "aria-pressed": String((local.given.by ?? "shard") === one),
  onclick: () => local.set({ by: one === "shard" ? "" : one }),
}, `By ${one}`)));

const phaseBadge = (phase) => badge(phase, { serving: "good", added: "warn", leaving: "warn" }[phase] ?? "");

const shardActs = (shard) => shard.phase !== "retired" && row(
  action("Weight", {
    title: `Weight of shard ${shard.id}`, does: "Slots move until each shard has slots in proportion to its weight.",
    fields: [{ name: "weight", label: "Weight, 0 to 1000", kind: "number", value: shard.weight }, reason],
    carryOut: ({ weight, reason: why }) => act("/v1/shard/weight", { shard: shard.id, weight: Number(weight), reason: why })({}),
  }, false),
  shard.phase !== "leaving" && action("Remove", {
    title: `Remove shard ${shard.id}`, does: "Permanent: the slots move to other shards, then the shard is deleted.", fields: [reason],
    carryOut: act("/v1/shard/remove", { shards: [shard.id] }),
  }));

const rebalance = (word, what, does) => action(word, {
  title: `${word} rebalancing`, does, fields: [reason], carryOut: act("/v1/cluster/rebalance", { action: what }),
}, false);

const clusterActs = (balance) => row(
  action("Add shards", {
    title: "Add data shards", does: "The shards take slots from other shards once all their voters are live.",
    fields: [{ name: "count", label: "Number of shards", kind: "number", value: 1 }, reason],
    carryOut: ({ count, reason: why }) => act("/v1/shard/add", { count: Number(count), reason: why })({}),
  }, false),
  balance.paused ? rebalance("Resume", "resume", "Slots move until each shard has its slots.")
    : rebalance("Pause", "pause", "No further move begins by weights. Moves in progress finish."));

/** How far a move is that was ordered. */
function state({ into, to, retry_in_ms: wait, failures, last_error: error }) {
  if (into) return badge(to ? "moving" : "cancelled", "warn");
  return [failures ? badge(wait ? `next attempt in ${span(wait)}` : "retried", "warn") : dim("waiting"), error && h("span", { class: "below" }, error)];
}

export const slots = {
  path: "/slots", nav: "Slots", title: "Slots", lead: "Which shard has which slots, and the moves between shards.",
  command: () => "signalbox cluster rebalance && signalbox slot list",
  watch: () => ["/v1/rebalance", "/v1/slots", "/v1/cluster", address("/v1/cluster/audit", { limit: 1000 })],
  draw([balance = {}, all = {}, cluster = {}, audit], local) {
    const pending = (balance.planned ?? []).reduce((sum, one) => sum + one.slots, 0);
    const byHost = local.given.by === "host", moves = all.moves ?? [];
    return h("div", {},
      tiles(tile(number(pending), "slots are to move", pending > 0 && "warn"),
        tile(number(moves.filter((one) => one.into).length), "slots are moving"),
        tile(balance.paused ? "paused" : balance.no_pacing ? "without pacing" : "on", "rebalancing", balance.paused && "warn")),
      balance.paused && note("warn", h("p", {}, `Rebalancing was paused by ${balance.author ?? "an operator"}: ${balance.reason ?? ""}`)),
      clusterActs(balance), views(local), map(all, cluster, byHost),
      h("h2", {}, "Shards"), table(balance.shards ?? [], [
        ["shard", shardLink, "word", (one) => Number(one.id)], ["phase", (one) => phaseBadge(one.phase), "", (one) => one.phase],
        ["weight", (one) => number(one.weight), "number", (one) => Number(one.weight)],
        ["slots", (one) => number(one.slots), "number", (one) => one.slots], ["target", (one) => number(one.target), "number", (one) => one.target],
        ["", shardActs, "acts"],
      ], { key: (one) => one.id, local, name: "shards" }),
      h("h2", {}, "Moves"), table(moves, [
        ["slot", (one) => number(one.slot), "number", (one) => Number(one.slot)], ["from", (one) => one.from ?? ""], ["to", (one) => one.to ?? one.into ?? ""],
        ["state", state], ["author", (one) => one.author ?? ""], ["reason", (one) => one.reason ?? ""],
      ], { empty: "No slot is ordered to move.", key: (one) => one.slot, local, name: "moves" }),
      audit && [h("h2", {}, "Log"), table((audit.items ?? []).filter((one) => one.event === "slot-move" || one.event === "shard").toReversed(), [
        ["when", (one) => since(one.time), "", (one) => one.time], ["what", (one) => one.message ?? ""], ["author", (one) => one.author ?? ""],
        ["reason", (one) => one.reason ?? ""],
      ], { empty: "No slot has moved lately.", key: (one) => one.id, local, name: "log" })]);
  },
};
