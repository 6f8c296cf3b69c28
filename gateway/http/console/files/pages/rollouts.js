// Which location has which version, what each waits for, and for how long.

import { address } from "/api.js";
import { badge, h, until } from "/dom.js";
import { concernOf, hangs } from "/concerns.js";
import { act, action, asks, command, dim, done, inNode, more, named, number, phase, reason, reasons, row, tile, tiles, when } from "/parts.js";
import { matches, search, table } from "/table.js";

export const rollouts = {
  path: "/rollouts", nav: "Rollouts", title: "Rollouts", lead: "Versions on their way through locations.",
  command: () => "signalbox rollout list NODE", watch: () => ["/v1/rollouts?limit=10000"],
  draw([found], local) {
    const rows = (found.items ?? []).filter((one) => matches(local, one.node, one.name, one.label));
    return h("div", {}, search(local, "Search nodes, names and versions"), table(rows, [
      ...named("rollout", "/rollout"),
      ["phase", (one) => hangs(phase, one.phase ?? "idle", concernOf(local, "rollout-", one)), "", (one) => one.phase],
      ["newest version", (one) => one.label || one.last_seq || "none", "", (one) => Number(one.last_seq)],
      ["locations", (one) => `${one.reached ?? 0} of ${one.locations ?? 0} have it`, "number", (one) => (one.reached ?? 0) / (one.locations || 1)],
      ["instances", (one) => number(one.instances), "number", (one) => one.instances ?? 0],
    ], {
      empty: local.given.filter ? "No name has this in it." : "There is no rollout. signalbox rollout create NODE NAME makes one.",
      key: (one) => `${one.node} ${one.name}`, local,
    }), more(found));
  },
};

const seqOf = (location) => Number(location.target?.seq ?? 0);
const labelOf = (found, seq) => (found.versions ?? []).find((one) => Number(one.seq) === Number(seq))?.label || `version ${seq}`;

/** The gates of a location, with a button for each that a person may judge. */
const gates = ({ node, name }, location) => (location.gates ?? []).map((gate) => h("div", { class: "row" },
  badge(`${gate.name}: ${gate.verdict?.result ?? "pending"}`, { passed: "good", failed: "bad" }[gate.verdict?.result]),
  gate.verdict?.text && dim(gate.verdict.text),
  location.target && !location.target.abandoned?.happened && gate.verdict?.result !== "passed" && action("Approve", {
    title: `Approve version ${location.target.seq} in ${location.name}`,
    does: `The gate ${gate.name} is passed without its check: locations after this one may get the version.`, fields: [reason],
    carryOut: ({ reason: text }) => asks("/v1/rollout/judge", {
      node, name, location: location.name, gate: gate.name, seq: location.target.seq, result: "passed", text, author: "the console",
    })({ reason: text }),
  }, false)));

/** How far a location is with its version. One that was given up is on its way no more. */
function progress(location) {
  const { target, leaders = 0, reached = 0 } = location;
  if (!target?.seq) return ["", null];
  if (target.abandoned?.happened) return ["bad", [badge("given up", "bad"), " ", dim(when(target.abandoned)), target.note && h("p", {}, target.note)]];
  if (target.reached?.happened) return ["good", [badge(target.waived ? "waived" : "has it", "good"), " ", dim("for ", when(target.reached))]];
  const kind = location.failing || location.stuck ? "bad" : "warn";
  return [kind, [badge(`${number(reached)} of ${number(leaders)} have it`, kind), leaders > 0 && h("progress", {
    max: leaders, value: reached, "aria-label": `${location.name}: leaders that have it`,
  })]];
}

/** A location as a stage: its version, how far it is, and what it waits for. */
function stage(found, location, given) {
  const [kind, words] = progress(location);
  const waits = (found.reasons ?? []).filter((one) => one.location === location.name);
  const { instances = 0, failing = 0 } = location;
  return h("li", { class: `stage ${waits.some((one) => one.blocked) ? "bad" : kind}`, "data-key": location.name },
    h("h3", {}, location.name), h("p", { class: "version" }, seqOf(location) > 0 ? labelOf(found, seqOf(location)) : dim("no version yet")), h("div", {}, words),
    h("p", { class: "dim" }, instances === 1 ? "1 instance" : `${number(instances)} instances`, failing > 0 && [", ", badge(`${number(failing)} failing`, "bad")]),
    location.bypassed && badge("bypassed", "warn"), location.stuck && badge("late", "bad"),
    Number(location.back ?? 0) > 0 && h("p", {}, "goes back to ", labelOf(found, location.back)), gates(given, location),
    waits.map((one) => h("p", { class: one.blocked ? "bad" : "" }, one.text, one.left_ms > 0 && [": ", h("b", {}, until(found.heard + one.left_ms))])));
}

/** Targets that locations gave up, the newest first. */
const givenUp = (found, past, local) => past.length > 0 && [h("h2", {}, "Given up"), table(past, [
  ["when", (one) => when(one.abandoned), "", (one) => -one.abandoned.time_ms], ["location", (one) => one.location, "", (one) => one.location],
  ["version", (one) => labelOf(found, one.seq), "", (one) => Number(one.seq)], ["why", (one) => one.note ?? ""],
], { key: (one) => `${one.location} ${one.generation}`, local, name: "given-up" })];

/**
 * The versions that locations can go back to, and the last of them that all had reached, if any. The version that is fled
 * is not one of them, nor what came after it.
 */
export function waysBack(found, past) {
  const locations = found.locations ?? [], fled = Math.max(0, ...locations.map(seqOf));
  const had = (seq) => locations.every((location) => (seqOf(location) === seq && location.target.reached?.happened)
    || past.some((one) => one.location === location.name && Number(one.seq) === seq && one.reached?.happened));
  const older = (found.versions ?? []).filter((one) => Number(one.seq) < fled && !one.withdrawn).toReversed();
  return { older, last: older.find((one) => had(Number(one.seq))) };
}

function acts({ node, name }, found, past) {
  const verb = (word, title, does, fields, harm, values) => action(word, {
    title: `${title} ${name}`, does, fields: [...fields, reason],
    carryOut: ({ seq, reason: why }) => act("/v1/rollout/act", { node, name, reason: why, ...values, ...(seq ? { seq: seq.split(" ")[0] } : {}) })({}),
  }, harm);
  const words = (one) => `${one.seq} ${one.label ?? ""}`.trim();
  const version = (list) => ({ name: "seq", label: "Version", choices: list.map((one) => (one ? words(one) : "")) });
  const stands = found.phase === "paused" || found.phase === "halted", versions = found.versions ?? [], { older, last } = waysBack(found, past);
  return row(
    stands ? verb("Resume", "Resume", "Locations get versions again, as the spec says.", [], false, { verb: "resume" })
      : verb("Pause", "Pause", "No location gets another version until it is resumed. What has a version keeps it.", [], false, { verb: "pause" }),
    versions.length > 0 && verb("Promote", "Promote", "All locations get the version at once: delays, gates and the order are left out.",
      [version(versions.toReversed())], true, { verb: "promote" }),
    older.length > 0 && verb("Roll back", "Roll back", ["The locations go back to the version, the last one first. ", last
      ? `All of them had ${words(last)} before.` : "There is no version that all of them had before."],
    [version([last, ...older.filter((one) => one !== last)])], true, { verb: "rollback" }),
    verb("Retry", "Retry", "Targets that were not reached are given once more.", [], false, { verb: "retry" }),
    verb("Abort", "Abort", "It halts: targets that are not reached are given up.", [], true, { verb: "abort" }));
}

export const oneRollout = {
  path: "/rollout", under: "/rollouts", title: "Rollout", lead: "Its locations in their order, with the version of each and what it waits for.",
  heading: (given) => given.name, command: ({ node, name }) => command`signalbox rollout status ${node} ${name}`,
  watch: ({ node, name }) => [...["/v1/rollout", "/v1/rollout/acts"].map((one) => address(one, { node, name })),
    address("/v1/rollout/history", { node, name, limit: 10000 })],
  draw([found, acted, past], local) {
    if (!found.exists) return h("p", { class: "empty" }, "There is no rollout of this name.");
    const { versions = [], locations = [], last_seq: newest } = found, targets = past?.items ?? [];
    const there = locations.filter((one) => one.target?.seq === newest && one.target?.reached?.happened);
    const whole = { reasons: (found.reasons ?? []).filter((one) => !one.location), heard: found.heard };
    const published = versions.map((one) => ({ at: one.published, verb: "publish", seq: one.seq, by: one.by }));
    return h("div", {},
      h("p", {}, phase(found.phase ?? "idle"), " in ", inNode(local.given.node)), acts(local.given, found, targets), reasons(whole),
      h("ol", { class: "stages" }, locations.map((one) => stage(found, one, local.given))),
      locations.length === 0 && h("p", { class: "empty" }, "It has no location."),
      tiles(tile(newest ? labelOf(found, newest) : "none", "newest version"), tile(`${there.length} / ${locations.length}`, "locations have it"),
        tile(number(versions.length), "versions are kept"), tile(number((found.sources ?? []).length), "sources")),
      givenUp(found, targets.filter((one) => one.abandoned?.happened).toSorted((a, b) => b.abandoned.time_ms - a.abandoned.time_ms), local),
      done([...(acted?.items ?? []), ...published].toSorted((a, b) => (a.at?.time_ms ?? 0) - (b.at?.time_ms ?? 0)),
        [["version", (one) => (one.seq ? labelOf(found, one.seq) : ""), "", (one) => Number(one.seq ?? 0)]], local), more(past));
  },
};
