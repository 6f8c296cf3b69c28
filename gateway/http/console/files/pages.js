// All pages, in the order of the navigation.

import { overview } from "/pages/overview.js";
import { locks, semaphore } from "/pages/locks.js";
import { oneSession, sessions } from "/pages/sessions.js";
import { lookup, lookups } from "/pages/lookups.js";
import { oneRollout, rollouts } from "/pages/rollouts.js";
import { oneProcess, processes } from "/pages/processes.js";
import { hosts } from "/pages/hosts.js";
import { backups, found, history } from "/pages/history.js";
import { rights } from "/pages/rights.js";

export const pages = [
  overview, locks, semaphore, sessions, oneSession, lookups, lookup, rollouts, oneRollout, processes, oneProcess, hosts, history,
  backups, rights, found,
];
