// What is not well: the list that hosts make, as every page counts it and the overview shows it.

import { badge, h, note, since } from "/dom.js";
import { act, action, link, reason } from "/parts.js";
import { table } from "/table.js";

export const healthAddress = "/v1/health";

/** Where health issues are shown, by what their kinds begin with: the list that counts them, and the page of one. */
const places = [
  ["rollout-", "/rollouts", "/rollout"], ["process-", "/processes", "/process"], ["long-wait", "/locks", "/semaphore"],
  ["quota", "/nodes", "/nodes"], ["backup-", "/backups", "/backups"], ["", "/hosts", "/hosts"],
];
const placeOf = ({ kind }) => places.find(([begins]) => kind.startsWith(begins));

/** The address of the page of an issue: of the object, of the host, or of the shard if there is one. */
function pageOf(one) {
  const [, list, page] = placeOf(one), { node, name, host, shards = [] } = one;
  if (list !== "/hosts") return [page, { node, name }];
  return host ? ["/host", { name: host }] : shards.length === 1 ? ["/shard", { id: shards[0] }] : [page, {}];
}

export const listOf = (issue) => placeOf(issue)[1];
export const fails = (one) => one.severity === "critical";

/** Those that call for somebody: a note is so by choice. */
export const calling = (answer) => (answer?.items ?? []).filter((one) => one.severity !== "info");

/** What is not well with an object of a list whose kinds begin so. */
export const healthIssueOf = (local, begins, { node, name }) => calling(local.healthIssues).find((one) => (
  one.kind.startsWith(begins) && one.node === node && one.name === name));

/** Whether the filter of a page shows an object in a phase, with its health issue if there is one. */
export const inPhase = ({ given: { state } }, phase, issue) => [undefined, phase].includes(state) || (state === "stuck" && Boolean(issue));

/** The phase of an object that may be stuck, with since when it is. */
export const hangs = (phase, word, issue) => [phase(word, Boolean(issue)),
  issue && h("span", { class: "below" }, issue.message, issue.since && [", for ", since(issue.since)])];

const change = (word, title, does, route, body) => action(word, { title, does, fields: [reason], carryOut: act(route, body) }, false);

/** The act that helps, where a button can do it; what else there is to do is said in words. */
const helps = ({ kind, node, name, host }) => ({
  "host-drained": () => change("Undrain", `Undrain host ${host}`, "The host becomes ONLINE again.", "/v1/host/undrain", { host }),
  "host-cordoned": () => change("Uncordon", `Uncordon host ${host}`, "The host may get replicas and votes again.", "/v1/host/uncordon", { host }),
  ...Object.fromEntries(["rollout-paused", "rollout-halted"].map((one) => [one, () => change("Resume", `Resume ${name}`,
    "Locations get versions again, as the spec says.", "/v1/rollout/action", { node, name, action: "resume" })])),
  "process-coordinator-stalled": () => change("Restart", `Restart ${name}`, "The round ends without a result, and another epoch opens.", "/v1/process/restart", { node, name }),
}[kind]?.());

const severity = { critical: ["bad", 0], warning: ["warn", 1], info: ["", 2] };

/** Draws the whole list, and which hosts have not said what they see. */
export function healthTable(answer, local) {
  if (!answer) return null;
  const { items = [], unreachable_hosts: unanswered = [] } = answer;
  return h("section", { class: "health-issues", "aria-label": "Health issues" },
    calling(answer).length === 0 && (unanswered.length > 0 ? note("warn", h("p", {}, "No known health issues; some hosts have not answered."))
      : note("good", h("p", {}, "Healthy."))),
    items.length > 0 && table(items, [
      ["severity", (one) => badge(one.severity, severity[one.severity]?.[0]), "word", (one) => severity[one.severity]?.[1] ?? 3],
      ["issue", (one) => [link(...pageOf(one), one.subject), h("span", { class: "below" }, one.message),
        one.omitted > 0 && h("span", { class: "below" }, `and ${one.omitted} more of this kind`)], "", (one) => one.subject],
      ["since", (one) => (one.since ? since(one.since) : ""), "number", (one) => one.since ?? "9"],
      ["waiting for", (one) => one.waiting_for ?? "", "", (one) => one.waiting_for],
      ["action", (one) => [h("span", { class: "below" }, one.hint), helps(one)]],
    ], { key: (one) => `${one.kind} ${one.subject}`, local, name: "health-issues" }),
    unanswered.map((one) => note("warn", h("p", {}, h("b", {}, one.host || one.address), " did not report its health issues: ", one.reason))));
}
