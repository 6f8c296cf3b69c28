// Which location has which version, and who holds it up.

import { address } from "/api.js";
import { badge, h, table } from "/dom.js";
import { act, action, ago, asks, command, link, matches, number, phase, reason, reasons, row, search, tile, tiles, when } from "/parts.js";

export const rollouts = {
  path: "/rollouts", nav: "Rollouts", title: "Rollouts", lead: "Versions on their way through locations.",
  command: () => "signalbox rollout list NODE", watch: () => ["/v1/rollouts?limit=10000"],
  draw([found], local) {
    const rows = (found.items ?? []).filter((one) => matches(local, one.node, one.name, one.label));
    return h("div", {}, search(local, "Search nodes, names and versions"), table(rows, [
      ["rollout", (one) => link("/rollout", { node: one.node, name: one.name }, one.name)], ["node", (one) => one.node],
      ["phase", (one) => phase(one.phase ?? "idle")], ["newest version", (one) => one.label || one.last_seq || "none"],
      ["locations", (one) => `${one.reached ?? 0} of ${one.locations ?? 0} have it`, "number"],
      ["instances", (one) => number(one.instances), "number"],
    ], {
      empty: local.filter ? "No name has this in it." : "There is no rollout. signalbox rollout create NODE NAME makes one.",
      key: (one) => `${one.node} ${one.name}`, local,
    }));
  },
};

const words = (version) => version.label || version.seq;

/** What a location has of a version: it is past it, on its way to it, there, or waits for it. */
function cell(location, version) {
  const target = Number(location.target?.seq ?? 0), seq = Number(version.seq);
  if (target > seq) return h("span", { class: "dim" }, "passed");
  if (target < seq) return version.withdrawn ? h("span", { class: "dim" }, "withdrawn") : h("span", { class: "dim" }, "waits");
  if (location.target.reached?.happened) return badge(location.target.waived ? "waived" : "reached", "good");
  const leaders = location.leaders ?? 0;
  return [badge(`${location.reached ?? 0} of ${leaders}`, location.failing || location.stuck ? "bad" : "warn"),
    " ", leaders > 0 && h("progress", { max: leaders, value: location.reached ?? 0, "aria-label": `${location.name}: leaders that have it` })];
}

/** The gates of a location, with a button for each that a person may judge. */
const gates = ({ node, name }, location) => (location.gates ?? []).map((gate) => h("div", { class: "row" },
  badge(`${gate.name}: ${gate.verdict?.result ?? "pending"}`, { passed: "good", failed: "bad" }[gate.verdict?.result]),
  gate.verdict?.text && h("span", { class: "dim" }, gate.verdict.text),
  location.target && gate.verdict?.result !== "passed" && action("Approve", {
    title: `Approve version ${location.target.seq} in ${location.name}`,
    does: `The gate ${gate.name} is passed without its check: locations after this one may get the version.`, fields: [reason],
    carryOut: ({ reason: text }) => asks("/v1/rollout/judge", {
      node, name, location: location.name, gate: gate.name, seq: location.target.seq, result: "passed", text, author: "the console",
    })({ reason: text }),
  }, false)));

function matrix(found, local) {
  const versions = (found.versions ?? []).slice(-6).reverse();
  const blocks = (name) => (found.reasons ?? []).filter((one) => one.location === name).map((one) => one.text).join("; ");
  return table(found.locations ?? [], [
    ["location", (one) => [h("b", {}, one.name), " ", one.bypassed && badge("bypassed", "warn"), one.stuck && badge("stuck", "bad")]],
    ...versions.map((version) => [words(version), (one) => cell(one, version)]),
    ["since", (one) => ago(one.target?.assigned), "number"],
    ["instances", (one) => `${number(one.instances)}${one.failing ? `, ${one.failing} failing` : ""}`, "number"],
    ["gates", (one) => gates(local.given, one)],
    ["who holds it up", (one) => blocks(one.name)],
  ], { empty: "It has no location.", key: (one) => one.name, local, name: "locations" });
}

function acts({ node, name }, found) {
  const verb = (word, title, does, fields, harm, values) => action(word, {
    title: `${title} ${name}`, does, fields: [...fields, reason],
    carryOut: ({ seq, reason: why }) => act("/v1/rollout/act", { node, name, reason: why, ...values, ...(seq ? { seq: seq.split(" ")[0] } : {}) })({}),
  }, harm);
  const version = {
    name: "seq", label: "Version", choices: [...(found.versions ?? [])].reverse().map((one) => `${one.seq} ${one.label ?? ""}`.trim()),
  };
  const stands = found.phase === "paused" || found.phase === "halted";
  return row(
    stands ? verb("Resume", "Resume", "Locations get versions again, as the spec says.", [], false, { verb: "resume" })
      : verb("Pause", "Pause", "No location gets another version until it is resumed. What has a version keeps it.", [], false, { verb: "pause" }),
    found.versions?.length > 0 && [
      verb("Promote", "Promote", "All locations get the version at once: delays, gates and the order are left out.", [version], true, { verb: "promote" }),
      verb("Roll back", "Roll back", "The locations go back to the version, the last one first.", [version], true, { verb: "rollback" })],
    verb("Retry", "Retry", "Targets that were not reached are given once more.", [], false, { verb: "retry" }),
    verb("Abort", "Abort", "It halts: targets that are not reached are given up.", [], true, { verb: "abort" }));
}

export const oneRollout = {
  path: "/rollout", under: "/rollouts", title: "Rollout", lead: "Locations by versions, and who holds them up.",
  heading: (given) => given.name, command: ({ node, name }) => command`signalbox rollout status ${node} ${name}`,
  watch: ({ node, name }) => [address("/v1/rollout", { node, name }), address("/v1/rollout/acts", { node, name })],
  draw([found, acted], local) {
    if (!found.exists) return h("p", { class: "empty" }, "There is no rollout of this name.");
    const there = (found.locations ?? []).filter((one) => one.target?.seq === found.last_seq && one.target?.reached?.happened);
    return h("div", {},
      h("p", {}, phase(found.phase ?? "idle"), " in ", h("code", {}, local.given.node)),
      tiles(tile(`${there.length} / ${(found.locations ?? []).length}`, "locations have the newest version"),
        tile(found.last_seq ?? "none", "newest version"), tile(number((found.versions ?? []).length), "versions are kept"),
        tile(number((found.sources ?? []).length), "sources")),
      acts(local.given, found), reasons(found.reasons), matrix(found, local),
      h("h2", {}, "What was done"), table([...(acted?.items ?? [])].reverse(), [
        ["when", (one) => when(one.at)], ["what", (one) => one.verb ?? ""], ["version", (one) => one.seq ?? "", "number"],
        ["by", (one) => one.by?.author ?? ""], ["why", (one) => one.by?.reason ?? ""],
      ], { empty: "Nothing was done by hand.", local, name: "acts" }));
  },
};
