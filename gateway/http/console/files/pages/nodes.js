// The namespace: nodes as a tree, and what is in one of them.

import { address } from "/api.js";
import { badge, h } from "/dom.js";
import { attached, command, data, dim, link, more, number, phase, who, whose } from "/parts.js";
import { matches, search, table } from "/table.js";

/** How many entries of the tree are drawn: of one branch, and so many of all that the whole tree is shown open. */
const mostOfBranch = 200, mostOpen = 60;

/** The nodes below each part of a path: {path, name, node, branches, below}. */
function grow(paths) {
  const root = { path: "", branches: new Map(), below: 0 };
  for (const path of paths) {
    let at = root;
    for (const name of path.split("/").slice(1)) {
      at.below++;
      const branch = at.branches.get(name) ?? { path: `${at.path}/${name}`, name, branches: new Map(), below: 0 };
      at.branches.set(name, branch);
      at = branch;
    }
    at.node = true;
  }
  return root;
}

/** Draws what is below a part of a path. A branch is open on the way to the one that is shown. */
function draw(at, shown, all) {
  const branches = [...at.branches.values()];
  return h("ul", {}, branches.slice(0, mostOfBranch).map((one) => {
    const open = all || `${shown}/`.startsWith(`${one.path}/`);
    return h("li", { "data-key": one.path },
      h("a", { href: address("/nodes", { [one.node ? "node" : "path"]: one.path }), "aria-current": one.path === shown ? "true" : null }, one.name),
      one.below > 0 && dim(` ${number(one.below)}`), open && one.branches.size > 0 && draw(one, shown, all));
  }), branches.length > mostOfBranch && h("li", {}, dim(`and ${number(branches.length - mostOfBranch)} more: search by path`)));
}

const objects = (what, path, list, words) => (list?.items ?? []).map((one) => ({ ...one, what, path, words: words(one) }));

function contents(local, [locks, discovery, configs, rollouts, processes, sessions]) {
  const { node } = local.given;
  const here = { items: (locks?.items ?? []).filter((one) => one.node === node) };
  const all = [
    ...objects("semaphore", "/semaphore", here, (one) => (one.owner ? who(one.owner, node) : dim("free"))),
    ...objects("rollout", "/rollout", rollouts, (one) => phase(one.phase ?? "idle")),
    ...objects("process", "/process", processes, (one) => phase(one.phase ?? "forming")),
    ...objects("endpoints", "/endpoints", discovery, (one) => `${number(one.endpoints)} endpoints`),
    ...objects("config", "/config", configs, (one) => data(one, "value")),
  ];
  return [
    h("h2", {}, "Objects"), table(all, [
      ["kind", (one) => badge(one.what), "", (one) => one.what],
      ["name", (one) => link(one.path, { node, name: one.name }, one.name), "", (one) => one.name],
      ["content", (one) => one.words, "clipped"],
    ], { empty: "The node is empty.", key: (one) => `${one.what} ${one.name}`, local, name: "objects" }),
    h("h2", {}, "Sessions"), table(sessions?.items ?? [], [
      ["client", (one) => who(one, node, one.id), "", whose], ["state", attached],
    ], { empty: "No sessions.", key: (one) => one.id, local, name: "sessions" }),
    more(locks, discovery, configs, rollouts, processes, sessions),
  ];
}

export const nodes = {
  path: "/nodes", nav: "Nodes", title: "Nodes", lead: "The tree of nodes, and their content.",
  heading: ({ node, path }) => node ?? path ?? "",
  command: ({ node, path }) => (node ? command`signalbox node describe ${node}` : command`signalbox node list ${path ?? "/"}`),
  watch: ({ node }) => ["/v1/nodes?limit=10000", ...(node ? [
    address("/v1/contention", { prefix: node, include_uncontended: true, limit: 10000 }),
    ...["discovery", "configs", "rollouts", "processes", "sessions"].map((one) => address(`/v1/${one}`, { node, limit: 10000 })),
  ] : [])],
  draw([found, ...inside], local) {
    const paths = (found.items ?? []).map((one) => one.path).filter((path) => matches(local, path));
    const { node, path = "", filter } = local.given;
    return h("div", {}, search(local, "Search paths"),
      paths.length === 0 ? h("p", { class: "empty" }, filter ? "No match." : "No nodes. Create one with signalbox node create PATH.")
        : h("div", { class: "tree" }, draw(grow(paths), node ?? path, Boolean(filter) || paths.length <= mostOpen)),
      more(found), node && contents(local, inside));
  },
};
