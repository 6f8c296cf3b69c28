// Which location has which version, what each waits for, and for how long.

import { address } from "/api.js";
import { badge, h, until } from "/dom.js";
import { healthIssueOf, hangs, inPhase } from "/health.js";
import { act, action, ago, asks, command, dim, done, inNode, link, more, named, number, phase, reason, reasons, row, tile, tiles, when } from "/parts.js";
import { matches, search, table } from "/table.js";

export const rollouts = {
  path: "/rollouts", nav: "Rollouts", title: "Rollouts", lead: "Versions delivered location by location.",
  command: () => "signalbox rollout list NODE", watch: () => ["/v1/rollouts?limit=10000"],
  draw([found], local) {
    const rows = (found.items ?? []).filter((one) => matches(local, one.node, one.name, one.label) && inPhase(local, one.phase ?? "idle", healthIssueOf(local, "rollout-", one)));
    return h("div", {}, search(local, "Search nodes, names and versions", ["all states", "stuck", "idle", "rolling", "rolling_back", "paused", "blocked", "halted"]), table(rows, [
      ...named("rollout", "/rollout"),
      ["phase", (one) => hangs(phase, one.phase ?? "idle", healthIssueOf(local, "rollout-", one)), "", (one) => one.phase],
      ["newest version", (one) => one.label || one.latest_version || "none", "", (one) => Number(one.latest_version)],
      ["locations", (one) => `${one.reached ?? 0} of ${one.locations ?? 0} have it`, "number", (one) => (one.reached ?? 0) / (one.locations || 1)],
      ["instances", (one) => number(one.instances), "number", (one) => one.instances ?? 0],
    ], {
      empty: local.given.filter || local.given.state ? "No match." : "No rollouts. Create one with signalbox rollout create NODE NAME.",
      key: (one) => `${one.node} ${one.name}`, local,
    }), more(found));
  },
};

const seqOf = (location) => Number(location.target?.version ?? 0);
const labelOf = (found, seq) => (found.versions ?? []).find((one) => Number(one.version) === Number(seq))?.label || `version ${seq}`;

/** The gates of a location, with a button for each that a person may report on. */
const gates = ({ node, name }, location) => (location.gates ?? []).map((gate) => h("div", { class: "row" },
  badge(`${gate.name}: ${gate.report?.verdict ?? "pending"}`, { passed: "good", failed: "bad" }[gate.report?.verdict]),
  gate.report?.message && dim(gate.report.message),
  location.target && !location.target.abandoned?.set && gate.report?.verdict !== "passed" && action("Approve", {
    title: `Approve version ${location.target.version} in ${location.name}`,
    does: `The gate ${gate.name} passes without its check: later locations may get the version.`, fields: [reason],
    carryOut: ({ reason: text }) => asks("/v1/rollout/gate/report", {
      node, name, location: location.name, gate: gate.name, version: location.target.version, verdict: "passed", message: text, author: "the console",
    })({ reason: text }),
  }, false)));

/** The newest version that was not withdrawn, 0 without any. */
const newestOf = (found) => Number((found.versions ?? []).findLast((one) => !one.withdrawn)?.version ?? 0);

/** An operator said that the target counts as reached, and leaders have not reached it. */
const overridden = ({ target, leaders = 0, reached = 0 }) => target?.overridden === true && (leaders === 0 || reached < leaders);

/** A location has the newest version, and not only by the word of an operator. */
const hasNewest = (found, location) => seqOf(location) === newestOf(found) && location.target?.reached?.set && !overridden(location);

/** How far a location is with its version, beside the newest. One that was given up is on its way no more. */
function progress(found, location) {
  const { target, leaders = 0, reached = 0 } = location;
  if (!target?.version) return ["", null];
  if (target.abandoned?.set) return ["bad", [badge("given up", "bad"), " ", dim(when(target.abandoned)), target.note && h("p", {}, target.note)]];
  const since = dim("for ", when(target.reached));
  if (target.reached?.set && seqOf(location) < newestOf(found)) return ["warn", [badge(`not ${labelOf(found, newestOf(found))} yet`, "warn"), " ", since]];
  if (target.reached?.set && overridden(location)) return ["warn", [badge("overridden", "warn"), " ", dim(`${number(reached)} of ${number(leaders)} have it`)]];
  if (target.reached?.set) return ["good", [badge("has it", "good"), " ", since]];
  const kind = location.failing || location.stalled ? "bad" : "warn";
  return [kind, [badge(`${number(reached)} of ${number(leaders)} have it`, kind), leaders > 0 && h("progress", {
    max: leaders, value: reached, "aria-label": `${location.name}: leaders that have it`,
  })]];
}

/** A location as a stage: its version, how far it is, and what it waits for. */
function stage(found, location, given) {
  const [kind, words] = progress(found, location);
  const waits = (found.reasons ?? []).filter((one) => one.location === location.name);
  const { instances = 0, failing = 0 } = location;
  return h("li", { class: `stage ${waits.some((one) => one.blocked) ? "bad" : kind}`, "data-key": location.name },
    h("h3", {}, location.name), h("p", { class: "version" }, seqOf(location) > 0 ? labelOf(found, seqOf(location)) : dim("no version yet")), h("div", {}, words),
    h("p", { class: "dim" }, instances === 1 ? "1 instance" : `${number(instances)} instances`, failing > 0 && [", ", badge(`${number(failing)} failing`, "bad")]),
    location.bypassed && badge("bypassed", "warn"), location.stalled && badge("late", "bad"),
    Number(location.rolling_back_to ?? 0) > 0 && h("p", {}, "rolls back to ", labelOf(found, location.rolling_back_to)), gates(given, location),
    waits.map((one) => h("p", { class: one.blocked ? "bad" : "" }, one.message, one.remaining_ms > 0 && [": ", h("b", {}, until(found.heard + one.remaining_ms))])));
}

/** How many locations with failing instances are shown at once: each is one of the addresses that a page follows. */
const mostFailing = 8;

/** The locations whose instances are shown: the one of the address, or else the first, and those with failing instances. */
function shownLocations(found, { location: picked }) {
  const all = found?.locations ?? [], failing = all.filter((one) => one.failing > 0).slice(0, mostFailing);
  const first = all.find((one) => one.name === picked) ?? failing[0] ?? all[0];
  return first ? [...new Set([first, ...failing])].map((one) => one.name) : [];
}

/** Instances with their last error, the failing ones first. */
function instanceTable(found, lists, local) {
  const all = lists.flatMap((list) => list?.items ?? []), failed = (one) => one.report?.status === "failed";
  return [h("h2", {}, "Instances"), found.locations.length > 1 && h("p", { class: "row" }, found.locations.map((one) => link("/rollout", { ...local.given, location: one.name }, one.name))),
    table(all.toSorted((a, b) => Number(failed(b)) - Number(failed(a))), [
      ["instance", (one) => link("/session", { id: one.session_id, node: local.given.node }, one.name), "", (one) => one.name],
      ["location", (one) => one.location, "", (one) => one.location],
      ["state", ({ report = {} }) => badge(report.status ?? "ok", { failed: "bad", updating: "warn" }[report.status] ?? "good"), "word", (one) => one.report?.status],
      ["version", ({ report = {} }) => (Number(report.current ?? 0) > 0 ? labelOf(found, report.current) : dim("none")), "", (one) => Number(one.report?.current ?? 0)],
      ["last error", ({ report = {} }) => [report.code && h("code", {}, report.code), report.message && h("span", { class: "below" }, report.message)]],
      ["attempts", (one) => number(one.report?.attempts), "number", (one) => one.report?.attempts ?? 0],
      ["since", (one) => ago(one.since), "number", (one) => -(one.since?.shard_time_ms ?? 0)],
    ], { empty: "No instances.", key: (one) => `${one.location} ${one.name}`, local, name: "instances" })];
}

/** Targets that locations gave up, the newest first. */
const givenUp = (found, past, local) => past.length > 0 && [h("h2", {}, "Given up"), table(past, [
  ["when", (one) => when(one.abandoned), "", (one) => -one.abandoned.shard_time_ms], ["location", (one) => one.location, "", (one) => one.location],
  ["version", (one) => labelOf(found, one.version), "", (one) => Number(one.version)], ["reason", (one) => one.note ?? ""],
], { key: (one) => `${one.location} ${one.generation}`, local, name: "given-up" })];

/**
 * The versions that locations can go back to, and the last of them that all had reached, if any. The version that is fled
 * is not one of them, nor what came after it.
 */
export function waysBack(found, past) {
  const locations = found.locations ?? [], fled = Math.max(0, ...locations.map(seqOf));
  const had = (seq) => locations.every((location) => (seqOf(location) === seq && location.target.reached?.set)
    || past.some((one) => one.location === location.name && Number(one.version) === seq && one.reached?.set));
  const older = (found.versions ?? []).filter((one) => Number(one.version) < fled && !one.withdrawn).toReversed();
  return { older, last: older.find((one) => had(Number(one.version))) };
}

function acts({ node, name }, found, past) {
  const verb = (word, title, does, fields, harm, values) => action(word, {
    title: `${title} ${name}`, does, fields: [...fields, reason],
    carryOut: ({ version: picked, reason: why }) => act("/v1/rollout/action", { node, name, reason: why, ...values, ...(picked ? { version: picked.split(" ")[0] } : {}) })({}),
  }, harm);
  const words = (one) => `${one.version} ${one.label ?? ""}`.trim();
  const version = (list) => ({ name: "version", label: "Version", choices: list.map((one) => (one ? words(one) : "")) });
  const stands = found.phase === "paused" || found.phase === "halted", versions = found.versions ?? [], kept = versions.filter((one) => !one.withdrawn).toReversed(), { older, last } = waysBack(found, past);
  return row(
    stands ? verb("Resume", "Resume", "Locations get versions again, as the spec says.", [], false, { action: "resume" })
      : verb("Pause", "Pause", "No location gets another version until the rollout is resumed. Current versions stay.", [], false, { action: "pause" }),
    versions.length > 0 && verb("Promote", "Promote", "All locations get the version at once, without delays, gates and order.",
      [version(versions.toReversed())], true, { action: "promote" }),
    older.length > 0 && verb("Roll back", "Roll back", ["The locations return to the version, the last location first. ", last
      ? `All locations had ${words(last)} before.` : "No earlier version was in all locations."],
    [version([last, ...older.filter((one) => one !== last)])], true, { action: "rollback" }),
    action("Publish", {
      title: `Publish a version of ${name}`, does: "Locations get the version in their order. Refused if another version was published meanwhile.",
      fields: [{ name: "label", label: "Label" }, { name: "payload", label: "Payload", kind: "lines" }, reason],
      carryOut: act("/v1/rollout/publish", { node, name, expect: found.latest_version ?? "0" }),
    }, false),
    kept.length > 0 && verb("Withdraw", "Withdraw a version of", "No location gets the version again. Locations that have it keep it; the others abandon it.",
      [version(kept)], true, { action: "withdraw" }),
    verb("Retry", "Retry", "Unreached targets are assigned again.", [], false, { action: "retry" }),
    verb("Abort", "Abort", "The rollout halts: unreached targets are abandoned.", [], true, { action: "abort" }));
}

export const oneRollout = {
  path: "/rollout", under: "/rollouts", title: "Rollout", lead: "Locations in order, with their versions and waits.",
  heading: (given) => given.name, command: ({ node, name }) => command`signalbox rollout status ${node} ${name}`,
  watch: ({ node, name, ...given }, found) => [...["/v1/rollout", "/v1/rollout/actions"].map((one) => address(one, { node, name })),
    address("/v1/rollout/history", { node, name, limit: 10000 }),
    ...shownLocations(found, given).map((location) => address("/v1/rollout/instances", { node, name, location, limit: 10000 }))],
  draw([found, acted, past, ...lists], local) {
    if (!found.exists) return h("p", { class: "empty" }, "The rollout does not exist.");
    const { versions = [], locations = [], latest_version: newest } = found, targets = past?.items ?? [];
    const there = locations.filter((one) => hasNewest(found, one));
    const whole = { reasons: (found.reasons ?? []).filter((one) => !one.location), heard: found.heard };
    const published = versions.map((one) => ({ time: one.published, action: "publish", version: one.version, author: one.author, reason: one.reason }));
    return h("div", {},
      h("p", {}, phase(found.phase ?? "idle"), " in ", inNode(local.given.node)), acts(local.given, found, targets), reasons(whole),
      h("ol", { class: "stages" }, locations.map((one) => stage(found, one, local.given))),
      locations.length === 0 && h("p", { class: "empty" }, "No locations."),
      tiles(tile(newest ? labelOf(found, newest) : "none", "newest version"), tile(`${there.length} / ${locations.length}`, "locations with the version", there.length < locations.length && "warn"),
        tile(number(versions.length), "stored versions"), tile(number((found.sources ?? []).length), "sources")),
      locations.length > 0 && instanceTable(found, lists, local),
      givenUp(found, targets.filter((one) => one.abandoned?.set).toSorted((a, b) => b.abandoned.shard_time_ms - a.abandoned.shard_time_ms), local),
      done([...(acted?.items ?? []), ...published].toSorted((a, b) => (a.time?.shard_time_ms ?? 0) - (b.time?.shard_time_ms ?? 0)),
        [["version", (one) => (one.version ? labelOf(found, one.version) : ""), "", (one) => Number(one.version ?? 0)]], local), more(past, ...lists));
  },
};
