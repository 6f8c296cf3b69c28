// Who may do what.

import { change, Refused } from "/api.js";
import { badge, h, note, since } from "/dom.js";
import { act, action, more, reason, row } from "/parts.js";
import { matches, search, table } from "/table.js";

const below = (grant) => [grant.path, grant.name_prefix && `${grant.name_prefix}…`].filter(Boolean).join(" ");

const revoke = (principal, grant) => action("Revoke", {
  title: `Revoke ${grant.role} from ${principal}`, does: `The principal loses the role ${grant.role} below ${below(grant)}.`, fields: [reason],
  carryOut: act("/v1/access/revoke", { principal, role: grant.role, path: grant.path, ...(grant.name_prefix ? { name_prefix: grant.name_prefix } : {}) }),
});

const hex = (bytes) => [...new Uint8Array(bytes)].map((one) => one.toString(16).padStart(2, "0")).join("");

/** Makes a token of a secret that this page draws; the host gets its hash. */
async function makeToken({ name, role, path, reason: why }) {
  if (!crypto.subtle) { // browsers keep it from pages that come over a network in the clear
    throw new Refused({ detail: "Cannot create a token: the page was loaded without TLS", hint: "Use TLS, or signalbox access token create NAME." });
  }
  const secret = `sb_${hex(crypto.getRandomValues(new Uint8Array(24)))}`;
  const sha256 = hex(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(secret)));
  await change("/v1/access/token/create", { name, sha256, grants: [{ role, path }], reason: why });
  return `The token of ${name} is ${secret} Copy the token now: it is shown only once.`;
}

/** The roles that there always are, each with what those before it have. */
const always = ["read", "write", "operator", "admin", "root"];

const acts = (roles) => {
  const grants = [
    { name: "role", label: "Role", choices: [...new Set([...always, ...roles])] },
    { name: "path", label: "Node path or path prefix", value: "/" }, reason,
  ];
  return row(
    action("Grant a role", {
      title: "Grant a role", does: "The principal gets the role below the path.",
      fields: [{ name: "principal", label: "token:NAME, cn:NAME, san:NAME or anonymous" }, ...grants],
      carryOut: act("/v1/access/grant", {}),
    }, false),
    action("Create a token", {
      title: "Create an access token", does: "The page generates the secret and shows it once; the cluster stores only a hash.",
      fields: [{ name: "name", label: "Name" }, ...grants], carryOut: makeToken,
    }, false));
};

const endToken = (one) => (one.name.startsWith("token:") ? action("Revoke token", {
  title: `Revoke ${one.name}`, does: "The token becomes invalid, and its connections are closed.", fields: [reason],
  carryOut: act("/v1/access/token/revoke", { name: one.name.slice("token:".length) }),
}) : "");

export const access = {
  path: "/access", nav: "Access", title: "Access", lead: "Principals, roles and grants.", command: () => "signalbox access list",
  watch: () => ["/v1/access/principals?limit=10000", "/v1/access/roles?limit=10000"],
  draw([found, roles], local) {
    const rows = (found.items ?? []).filter((one) => matches(local, one.name, one.author, ...(one.grants ?? []).map((g) => `${g.role} ${g.path}`)));
    return h("div", {},
      !found.configured && note("warn", h("p", {}, "The cluster has no access rules: clients without a token may do everything.")),
      acts((roles?.items ?? []).map((one) => one.name)), search(local, "Search names, roles and paths"), table(rows, [
        ["principal", (one) => h("b", {}, one.name), "", (one) => one.name],
        ["roles", (one) => (one.grants ?? []).map((g) => h("div", { class: "row" }, badge(g.role), h("code", {}, below(g)), revoke(one.name, g)))],
        ["author", (one) => one.author ?? "", "", (one) => one.author], ["created", (one) => since(one.created), "number", (one) => one.created],
        ["expires", (one) => (one.expires ? new Date(one.expires).toLocaleString() : "never"), "number", (one) => one.expires ?? "9"], ["", endToken, "acts"],
      ], { empty: local.given.filter ? "No match." : "No role is granted.", key: (one) => one.name, local }),
      h("h2", {}, "Roles"), table(roles?.items ?? [], [
        ["role", (one) => h("b", {}, one.name)],
        ["rules", (one) => (one.rules ?? []).map((rule) => h("div", {}, h("code", {}, below(rule)), " ", (rule.permissions ?? []).map((word) => badge(word))))],
      ], { empty: `No custom roles. Predefined: ${always.join(", ")}.`, key: (one) => one.name, local, name: "roles" }), more(found, roles));
  },
};
