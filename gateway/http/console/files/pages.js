// All pages, in the order of the navigation.

import { h } from "/dom.js";
import { overview } from "/pages/overview.js";
import { locks, semaphore } from "/pages/locks.js";
import { oneSession, sessions } from "/pages/sessions.js";
import { config, configs, discovery, endpoints } from "/pages/lookups.js";
import { oneRollout, rollouts } from "/pages/rollouts.js";
import { oneProcess, processes } from "/pages/processes.js";
import { nodes } from "/pages/nodes.js";
import { hosts } from "/pages/hosts.js";
import { oneHost, oneShard } from "/pages/host.js";
import { slots } from "/pages/slots.js";
import { backups, found, history } from "/pages/history.js";
import { access } from "/pages/access.js";

export const pages = [
  overview, locks, semaphore, sessions, oneSession, rollouts, oneRollout, processes, oneProcess, discovery, endpoints, configs, config,
  nodes, hosts, oneHost, oneShard, slots, history, backups, access, found,
];

/** What is shown at an address that no page has. */
export const unknown = {
  title: "Page not found", lead: "The console has no page at this address.", watch: () => [],
  draw: () => h("p", {}, "The menu lists all pages. ", h("a", { href: "/" }, "The overview"), " shows health issues; the search finds names."),
};
