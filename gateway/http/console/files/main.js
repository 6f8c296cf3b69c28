// The console: which page is shown, what it follows, and what is drawn of it.

import { address, change, follow, read } from "/api.js";
import { h, note, replace, visible } from "/dom.js";
import { ask } from "/ask.js";
import { calling, healthAddress, fails, listOf } from "/health.js";
import { pages, unknown } from "/pages.js";

const place = document.getElementById("page");
const link = document.getElementById("link");
const sign = document.getElementById("sign");
let stop = () => {}, goOn = () => {};
let signed = { signed_in: false, read_only: false };

/** Shows the page of the present address. */
function show() {
  stop();
  document.getElementById("dialog").close();
  const page = pages.find((one) => one.path === location.pathname) ?? unknown;
  const given = Object.fromEntries(new URLSearchParams(location.search));
  let watched = [...page.watch(given), healthAddress];
  let answers = watched.map(() => undefined), lost, heard, asked = false;
  const draw = () => {
    local.healthIssues = answers.at(-1)?.problem ? undefined : answers.at(-1);
    announce(page, given, calling(local.healthIssues), lost);
    replace(place, h("div", {}, head(page, given, answers), lost && disconnected(heard),
      h("div", { class: lost ? "stale" : null }, body(page, answers.slice(0, -1), local))));
    document.body.classList.toggle("reads-only", signed.read_only);
  };
  const set = (values) => {
    for (const [name, value] of Object.entries(values)) if (value === "") delete given[name]; else given[name] = value;
    history.replaceState(null, "", address(location.pathname, given));
    draw();
  };
  const local = { given, set };
  draw();
  document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  /** A page may follow more, as its first answer names it. What is followed in vain stays until then: each change is a new stream. */
  const widen = () => {
    const wanted = [...page.watch(given, answers[0]), healthAddress];
    if (wanted.every((one) => watched.includes(one))) return;
    answers = wanted.map((one) => answers[watched.indexOf(one)]);
    watched = wanted;
    goOn();
  };
  const followed = () => follow(watched, (got) => { answers = got; heard = new Date(); widen(); draw(); }, (state, problem) => {
    link.textContent = { live: "live", lost: "disconnected", refused: "refused" }[state];
    link.className = `link ${state === "live" ? "live" : "lost"}`;
    lost = state !== "live";
    if (state !== "lost") drawSign();
    if (problem) answers = watched.map(() => ({ problem }));
    if (problem) lost = false;
    draw();
    if (state === "live") asked = false;
    if (problem?.status === 401 && !asked) { // who gives up is not asked again and again
      asked = true;
      signIn();
    }
  }, answers);
  goOn = () => { stop(); stop = document.hidden ? () => {} : followed(); };
  goOn();
}

/** Has title, icon and menu say how many things are not well. */
function announce(page, given, list, lost) {
  const many = list.length > 0 ? `(${list.length}) ` : "";
  document.title = `${lost ? "(!) " : many}${[page.heading?.(given), page.title].filter(Boolean).map((one) => visible(one)).join(" · ")} · Signalbox`;
  const icon = document.querySelector("link[rel=icon]"), worst = lost || list.some(fails) ? "/bad.svg" : list.length > 0 ? "/warn.svg" : "/icon.svg";
  if (icon.getAttribute("href") !== worst) icon.setAttribute("href", worst);
  replace(document.getElementById("nav"), h("nav", {}, pages.filter((one) => one.nav).map((one) => {
    const own = one.path === "/" ? list : list.filter((issue) => listOf(issue) === one.path);
    return h("a", { href: one.path, "aria-current": one.path === page.path || one.path === page.under ? "page" : null }, one.nav,
      own.length > 0 && h("b", { class: `count ${own.some(fails) ? "bad" : "warn"}`, "aria-label": `${own.length} health issues` }, own.length));
  })));
}

/** What is said while the host is not there. */
function disconnected(heard) {
  return note("bad", h("p", {}, h("b", {}, "This host does not answer. "), "The console tries again automatically."),
    heard && h("p", { class: "next" }, `The page shows data from ${heard.toLocaleTimeString()}.`));
}

function head(page, given, answers) {
  return h("div", {}, h("h1", {}, page.heading?.(given, answers[0]) ?? page.title), h("p", { class: "lead" }, page.lead),
    page.command && h("p", { class: "command" }, h("span", {}, "Command: "), h("code", {}, page.command(given))));
}

/** Draws the states that every page has, or the page. What the token does not let see beside it is left out. */
function body(page, answers, local) {
  if (answers.length === 0) return page.draw([], local);
  const [first] = answers;
  if (first === undefined) {
    return h("div", {}, page.above?.(local), h("div", { class: "bones", role: "status", "aria-label": "Reading" }, [1, 2, 3, 4].map(() => h("span"))));
  }
  if (first.problem) {
    return h("div", {}, page.above?.(local), note("bad", h("p", {}, h("b", {}, first.problem.title), ": ", first.problem.detail),
      h("p", { class: "next" }, "What to do: ", first.problem.hint)));
  }
  const missing = first.exists === false ? [] : answers.filter((one) => one?.problem); // the page says that there is none
  return h("div", {}, page.above?.(local), page.draw(answers.map((one) => (one?.problem ? undefined : one)), local),
    missing.map((one) => note("", h("p", { class: "dim" }, `Not shown: ${one.problem.detail}`))));
}

async function signIn() {
  if (document.getElementById("dialog").open) return;
  const given = await ask({
    title: "Sign in", does: "Your permissions depend on the access token. The host keeps the token in memory for eight hours.",
    fields: [{ name: "token", label: "Access token", kind: "password" }], word: "Sign in",
    carryOut: async ({ token }) => { await change("/v1/login", { token }); },
  });
  if (given) show();
}

/** Asks the host whether this browser is signed in, which a script cannot see. */
async function drawSign() {
  signed = await read("/v1/login").catch(() => signed);
  sign.textContent = signed.signed_in ? "Sign out" : "Sign in";
  document.body.classList.toggle("reads-only", signed.read_only);
}

sign.onclick = async () => {
  if (!signed.signed_in) return signIn();
  try {
    await change("/v1/logout");
  } catch {
    link.textContent = "sign-out failed";
    link.className = "link lost";
    return;
  }
  await drawSign();
  show();
};

function go(address) {
  history.pushState(null, "", address);
  show();
  place.focus();
  scrollTo(0, 0);
}

document.addEventListener("click", (event) => {
  const to = event.target.closest?.("a[href]");
  if (!to || to.origin !== location.origin || to.hash || to.download) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return; // it goes to another tab, or to a file
  event.preventDefault();
  go(to.href);
});

document.getElementById("search").onsubmit = (event) => {
  event.preventDefault();
  const text = document.getElementById("search-text").value.trim();
  if (text) go(`/search?${new URLSearchParams({ query: text })}`);
};

// "/" goes to the search from wherever nothing is typed.
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("input, textarea, select, dialog")) return;
  event.preventDefault();
  document.getElementById("search-text").focus();
});

addEventListener("popstate", show);

// A browser has six connections to a host for all its tabs. So a tab that is not seen has no stream.
addEventListener("pagehide", () => stop());
addEventListener("pageshow", (event) => { if (event.persisted) goOn(); });
document.addEventListener("visibilitychange", () => goOn());
show();
