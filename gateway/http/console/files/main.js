// The console: which page is shown, what it follows, and what is drawn of it.

import { follow, read, change, Refused } from "/api.js";
import { h, replace, note } from "/dom.js";
import { ask } from "/ask.js";
import { pages } from "/pages.js";

const place = document.getElementById("page");
const link = document.getElementById("link");
let stop = () => {};

/** Shows the page of the present address. */
function show() {
  stop();
  const page = pages.find((one) => one.path === location.pathname) ?? pages[0];
  const given = Object.fromEntries(new URLSearchParams(location.search));
  document.title = `${page.title} · Signalbox`;
  drawNavigation(page);
  const local = { filter: "", given, redraw: () => {} };
  const watched = page.watch(given);
  let answers = watched.map(() => undefined);
  const draw = () => {
    const drawn = h("div", {}, head(page, given), body(page, answers, local));
    replace(place, drawn);
  };
  local.redraw = draw;
  draw();
  stop = follow(watched, (got) => { answers = got; draw(); }, (state, problem) => {
    link.textContent = { live: "live", lost: "disconnected, trying again", refused: "refused" }[state];
    link.className = `link ${state === "live" ? "live" : "lost"}`;
    if (state !== "refused") return;
    answers = watched.map(() => ({ problem }));
    draw();
    if (problem.status === 401) signIn();
  });
}

function head(page, given) {
  return h("div", {}, h("h1", {}, page.heading?.(given) ?? page.title), h("p", { class: "lead" }, page.lead),
    h("p", { class: "command" }, "The same: ", h("code", {}, page.command(given))));
}

/** Draws the states that every page has, or the page. */
function body(page, answers, local) {
  const refused = answers.find((one) => one?.problem);
  if (refused) {
    return note("bad", h("p", {}, h("b", {}, refused.problem.title), ": ", refused.problem.detail),
      h("p", {}, refused.problem.do));
  }
  if (answers[0] === undefined) return h("p", { class: "loading", role: "status" }, "Reading …");
  return page.draw(answers, local);
}

function drawNavigation(shown) {
  const links = pages.filter((one) => one.nav).map((one) => h("a", {
    href: one.path, "aria-current": one.path === shown.path || one.path === shown.under ? "page" : null,
  }, one.nav));
  replace(document.getElementById("nav"), h("nav", {}, links));
}

async function signIn() {
  if (document.getElementById("dialog").open) return;
  const given = await ask({
    title: "Sign in", does: "An access token says what you may see and do. It is kept by this host, for eight hours.",
    fields: [{ name: "token", label: "Access token", kind: "password" }], word: "Sign in",
    carryOut: (values) => change("/v1/sign-in", values),
  });
  if (given) { drawSign(true); show(); }
}

let signedIn = false;
function drawSign(is) {
  signedIn = is;
  document.getElementById("sign").textContent = is ? "Sign out" : "Sign in";
}

document.getElementById("sign").onclick = async () => {
  if (!signedIn) return signIn();
  await change("/v1/sign-out");
  drawSign(false);
  show();
};

document.addEventListener("click", (event) => {
  const to = event.target.closest?.("a[href]");
  if (!to || to.origin !== location.origin || event.metaKey || event.ctrlKey || to.hash) return;
  event.preventDefault();
  history.pushState(null, "", to.href);
  show();
  place.focus();
  scrollTo(0, 0);
});
addEventListener("popstate", show);
show();
