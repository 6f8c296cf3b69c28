// What the console asks its host: one stream of events for all that a page shows, and changes one by one.

export class Refused extends Error {
  constructor(problem) {
    super(problem.detail);
    this.problem = problem;
  }
}

async function answer(response) {
  const body = await response.json().catch(() => ({ detail: response.statusText, do: "try again" }));
  if (!response.ok) throw new Refused(body);
  return body;
}

/** Reads a route once. */
export const read = async (address) => answer(await fetch(address, { headers: { Accept: "application/json" } }));

/** Asks for a change. */
export const change = async (route, body = {}) => answer(await fetch(route, {
  method: "POST", body: JSON.stringify(body),
  headers: { "Content-Type": "application/json", "Signalbox-Console": "1" },
}));

/** The address of a route with its parameters. */
export function address(route, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== undefined && value !== ""));
  return query.size ? `${route}?${query}` : route;
}

/** Follows addresses by one stream: show is called with all answers, in their order, whenever one has changed. */
export function follow(addresses, show, state) {
  const answers = addresses.map(() => undefined);
  const query = new URLSearchParams(addresses.map((one) => ["watch", one]));
  let source, again, pause = 1000, frame;
  const draw = () => { frame = undefined; show(answers); };
  const open = () => {
    source = new EventSource(`/v1/events?${query}`);
    source.addEventListener("open", () => { pause = 1000; state("live"); });
    source.addEventListener("answer", (event) => {
      const { watch, answer } = JSON.parse(event.data);
      answers[watch] = answer;
      frame ??= requestAnimationFrame(draw);
    });
    source.addEventListener("error", async () => {
      if (source.readyState === EventSource.CONNECTING) return state("lost");
      // The host has refused the stream: it says why where it is asked once.
      state("lost");
      try { await read(addresses[0]); } catch (refused) {
        if (refused instanceof Refused) state("refused", refused.problem);
      }
      again = setTimeout(open, pause);
      pause = Math.min(pause * 2, 15000);
    });
  };
  if (addresses.length) open();
  return () => {
    clearTimeout(again);
    cancelAnimationFrame(frame);
    source?.close();
  };
}
