// Where a coordination process is, and who has not answered.

import { address } from "/api.js";
import { badge, h } from "/dom.js";
import { healthIssueOf, hangs, inPhase } from "/health.js";
import { act, action, ago, command, dim, done, inNode, link, more, named, number, phase, reason, reasons, row, tile, tiles } from "/parts.js";
import { matches, search, table } from "/table.js";

export const processes = {
  path: "/processes", nav: "Processes", title: "Processes", lead: "Coordination processes, and the state of their rounds.",
  command: () => "signalbox process list NODE", watch: () => ["/v1/processes?limit=10000"],
  draw([found], local) {
    const rows = (found.items ?? []).filter((one) => matches(local, one.node, one.name, one.coordinator) && inPhase(local, one.phase ?? "forming", healthIssueOf(local, "process-", one)));
    return h("div", {}, search(local, "Search nodes, names and coordinators", ["all states", "stuck", "forming", "preparing", "running", "complete"]), table(rows, [
      ...named("process", "/process"),
      ["phase", (one) => hangs(phase, one.phase ?? "forming", healthIssueOf(local, "process-", one)), "", (one) => one.phase],
      ["epoch", (one) => number(one.epoch), "number", (one) => Number(one.epoch)],
      ["members", (one) => `${one.prepared ?? 0} of ${one.members ?? 0} prepared`, "number", (one) => one.members ?? 0],
      ["coordinator", (one) => one.coordinator || dim("none"), "", (one) => one.coordinator],
    ], {
      empty: local.given.filter || local.given.state ? "No match." : "No processes. Create one with signalbox process create NODE NAME.",
      key: (one) => `${one.node} ${one.name}`, local,
    }), more(found));
  },
};

/** Whether a member has answered what the epoch asks of it. */
function standing(one, found) {
  if (!one.in_epoch) return badge("waits for the next epoch");
  if (found.epoch && one.completed === found.epoch) return badge("completed", "good");
  return one.prepared === found.epoch ? badge("prepared", "good") : badge("has not answered", "warn");
}

function acts({ node, name }) {
  return row(action("Restart", {
    title: `Restart ${name}`, does: "The round ends without a result, and a new epoch opens with the current members.",
    fields: [reason], carryOut: act("/v1/process/restart", { node, name }),
  }));
}

const evict = ({ node, name }) => (one) => action("Evict", {
  title: `Evict ${one.name || one.id}`, does: "The member is removed. If it takes part in the round, a new epoch opens.",
  fields: [reason], carryOut: act("/v1/process/evict", { node, name, member: one.id }),
});

export const oneProcess = {
  path: "/process", under: "/processes", title: "Process", lead: "The epoch, its members, and missing replies.",
  heading: (given) => given.name, command: ({ node, name }) => command`signalbox process status ${node} ${name}`,
  watch: ({ node, name }) => [address("/v1/process", { node, name }), address("/v1/process/actions", { node, name })],
  draw([found, acted], local) {
    if (!found.exists) return h("p", { class: "empty" }, "The process does not exist.");
    const members = found.members ?? [];
    const prepared = members.filter((one) => one.in_epoch && one.prepared === found.epoch).length;
    const { node } = local.given, stuck = (found.reasons ?? []).some((one) => one.blocked || one.overdue);
    return h("div", {},
      h("p", {}, phase(found.phase ?? "forming", stuck), " in ", inNode(node), ", since ", ago(found.since)), reasons(found),
      tiles(tile(number(found.epoch), "epoch"), tile(`${prepared} / ${found.epoch_members ?? 0}`, "prepared members"),
        tile(number(members.length), "members"), tile(number(found.last_result), "last completed epoch")),
      acts(local.given),
      table(members, [
        ["member", (one) => [one.session_id ? link("/session", { id: one.session_id, node }, one.name || one.id) : h("b", {}, one.name || one.id),
          " ", one.id === found.coordinator && badge("coordinates")], "", (one) => one.name || one.id],
        ["state", (one) => standing(one, found)],
        ["unread", (one) => number(one.unread), "number", (one) => one.unread ?? 0],
        ["joined", (one) => ago(one.joined), "number", (one) => one.joined?.shard_time_ms ?? 0],
        ["", evict(local.given), "acts"],
      ], { empty: "No members.", key: (one) => one.id, local, name: "members" }),
      done(acted?.items ?? [], [["member", (one) => one.member ?? ""]], local));
  },
};
