// What the console asks its host: one stream of events for all that a page shows, and changes one by one.

/** What a host answers that does not carry a request out: its problem says why, and what to do. */
export class Refused extends Error {
  constructor(problem) {
    super(problem.detail);
    this.problem = problem;
  }

  /** In words, for people. */
  get words() { return `${this.problem.detail}. ${this.problem.hint ?? ""}`; }
}

async function answer(response) {
  if (response.ok) return response;
  throw new Refused(await response.json().catch(() => ({ title: "No answer", detail: response.statusText, hint: "try again" })));
}

/** Reads a route once. */
export const read = async (address) => (await answer(await fetch(address, { headers: { Accept: "application/json" } }))).json();

/** Asks for a change, or for a file. The reason is for the history of the cluster. */
export const send = async (route, body, reason) => answer(await fetch(route, {
  method: "POST", body: JSON.stringify(body),
  headers: {
    "Content-Type": "application/json", "Signalbox-Console": "1",
    ...(reason ? { "Signalbox-Reason": encodeURIComponent(reason) } : {}),
  },
}));

/** Asks for a change, and returns what the host says to it. */
export const change = async (route, body = {}, reason = body.reason) => (await send(route, body, reason)).json();

/** The address of a route with its parameters. */
export function address(route, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== undefined && value !== ""));
  return query.size ? `${route}?${query}` : route;
}

/**
 * Follows addresses by one stream: show is called with all answers, in their order, whenever one has changed. Known are the
 * answers that are shown already.
 */
export function follow(addresses, show, state, known = []) {
  const answers = addresses.map((_, i) => known[i]);
  const stream = `/v1/events?${new URLSearchParams(addresses.map((one) => ["watch", one]))}`;
  let source, again, frame, ended = false, pause = 1000;
  const draw = () => { frame = undefined; show(answers); };
  const refused = async () => { // an event source does not say why it has failed
    const asked = new AbortController();
    try {
      await answer(await fetch(stream, { headers: { Accept: "text/event-stream" }, signal: asked.signal }));
    } catch (error) {
      if (error instanceof Refused && !ended) state("refused", error.problem);
    }
    asked.abort();
  };
  const retry = async () => {
    state("lost");
    if (source.readyState === EventSource.CONNECTING) return; // the browser tries again by itself
    await refused();
    if (ended) return;
    again = setTimeout(open, pause);
    pause = Math.min(pause * 2, 15000);
  };
  const open = () => {
    source = new EventSource(stream);
    source.addEventListener("open", () => { pause = 1000; state("live"); });
    source.addEventListener("answer", (event) => {
      const { watch, answer: newest } = JSON.parse(event.data);
      answers[watch] = Object.assign(newest, { heard: Date.now() });
      frame ??= requestAnimationFrame(draw);
    });
    source.addEventListener("error", retry);
  };
  if (addresses.length) open();
  return () => {
    ended = true;
    clearTimeout(again);
    cancelAnimationFrame(frame);
    source?.close();
  };
}
