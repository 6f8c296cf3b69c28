// Who has it, and who waits.

import { address } from "/api.js";
import { badge, h, since } from "/dom.js";
import { action, asks, command, count, data, dim, endSession, inNode, more, named, number, reason, row, tile, tiles, who, whose } from "/parts.js";
import { matches, search, table } from "/table.js";

const owner = (one) => {
  if (one.owner) return [who(one.owner, one.node), one.owner_count > 1 && h("span", { class: "below" }, `and ${number(one.owner_count - 1)} more`)];
  return one.owner_count ? `${number(one.owner_count)} owners` : dim("free");
};

/** What the states of the filter show. Free semaphores are hidden at first. */
const states = {
  "in use": (one) => one.owner_count > 0 || one.waiter_count > 0, waiting: (one) => one.waiter_count > 0,
  free: (one) => !one.owner_count && !one.waiter_count, all: () => true,
};

export const locks = {
  path: "/locks", nav: "Locks", title: "Locks", lead: "Waiters and owners in all nodes, longest wait first.",
  command: () => "signalbox who", watch: () => ["/v1/contention?include_uncontended=true&limit=10000"],
  draw([found], local) {
    const all = (found.items ?? []).filter((one) => matches(local, one.node, one.name, one.owner?.description, one.owner?.client?.name));
    const shows = states[local.given.state] ?? states["in use"], rows = all.filter(shows), hidden = local.given.state ? 0 : all.length - rows.length;
    return h("div", {}, search(local, "Search nodes, names and owners", Object.keys(states)), table(rows, [
      ...named("semaphore", "/semaphore"),
      ["waiting", (one) => (one.waiter_count ? badge(number(one.waiter_count), "warn") : ""), "number", (one) => one.waiter_count ?? 0],
      ["longest wait", (one) => (one.waiter ? since(one.waiter.since) : ""), "number", (one) => one.waiter?.since ?? "9"],
      ["owned", (one) => `${count(one)} of ${one.ephemeral || one.limit === "all" ? "all" : number(one.limit)}`, "number", (one) => Number(one.count ?? 0)],
      ["owner", owner, "", (one) => (one.owner ? whose(one.owner) : "")],
      ["since", (one) => (one.owner ? since(one.owner.since) : ""), "number", (one) => one.owner?.since ?? "9"],
    ], {
      empty: local.given.filter || local.given.state ? "No match." : hidden ? "No semaphore is in use." : "No semaphores. Acquire a lock with signalbox lock NODE NAME -- COMMAND.",
      key: (one) => `${one.node} ${one.name}`, local,
    }), hidden > 0 && h("div", { class: "row" }, dim(hidden === 1 ? "1 free semaphore is hidden." : `${number(hidden)} free semaphores are hidden.`),
      h("button", { type: "button", onclick: () => local.set({ state: "all" }) }, "Show all")), more(found));
  },
};

const sides = (node, kind, id) => [
  ["client", (one) => who(one, node), "", whose],
  ["since", (one) => since(one.since), "number", (one) => one.since], [kind, (one) => one[id], "number", (one) => Number(one[id])],
  ["count", count, "number", (one) => Number(one.count)], ["data", (one) => data(one)],
  ["", (one) => endSession(one, node), "acts"],
];

function acts({ node, name }, found) {
  const remove = action("Delete", {
    title: `Delete ${name}`, does: "Owners lose their units, and waiters are rejected. The deletion cannot be undone.", fields: [reason],
    carryOut: asks("/v1/semaphore/delete", { node, name, force: true }),
  });
  if (found.ephemeral) return row(remove);
  return row(action("Resize", {
    title: `Change the limit of ${name}`, does: "A higher limit admits waiters. A lower limit takes nothing from owners.",
    fields: [{ name: "limit", label: "Limit", value: found.limit }, reason],
    carryOut: asks("/v1/semaphore/resize", { node, name }),
  }, false), remove);
}

export const semaphore = {
  path: "/semaphore", under: "/locks", title: "Semaphore", lead: "Owners and queue, updated live.",
  heading: (given) => given.name, command: (given) => command`signalbox semaphore describe ${given.node} ${given.name}`,
  watch: ({ node, name }) => [address("/v1/semaphore", { node, name, limit: 10000 })],
  draw([found], local) {
    const { node } = local.given;
    const unlimited = found.limit === "all";
    return h("div", {},
      tiles(tile(count(found), unlimited || found.ephemeral ? "owned" : `of ${number(found.limit)} owned`),
        tile(number(found.waiter_count), "waiting"), tile(number(found.revision), "revision")),
      h("p", {}, "In ", inNode(node), " ", found.ephemeral && badge("ephemeral"),
        (found.data || found.data_base64) && [" with the data ", data(found)]),
      acts(local.given, found),
      h("h2", {}, "Owners"), table(found.owners ?? [], sides(node, "fence", "fence"),
        { empty: "The semaphore is free.", key: (one) => one.fence, local, name: "owners" }),
      h("h2", {}, "Queue"), table(found.waiters ?? [], sides(node, "position", "order_id"),
        { empty: "No session waits.", key: (one) => one.order_id, local, name: "waiters" }), more(found));
  },
};
