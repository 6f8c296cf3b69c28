// What a program does with the client that is generated from the OpenAPI document: nothing of it is written by hand.
import assert from "node:assert/strict";
import { client } from "./out/client.gen";
import * as api from "./out/sdk.gen";

async function run(): Promise<void> {
  client.setConfig({ baseUrl: process.env.SIGNALBOX_HTTP });
  const node = "/generated";
  const made = await api.postNodeCreate({ body: { node }, throwOnError: true });
  assert.equal(made.data.path, node);
  for (const name of ["a", "b", "c"]) {
    const created = await api.postSemaphoreCreate({ body: { node, name, limit: "1" }, throwOnError: true });
    assert.equal(created.data.changed, true);
  }

  // Lists come in pages. Fields that are always present have no undefined in their types.
  const names: string[] = [];
  for (let cursor: string | undefined, more = true; more;) {
    const page = await api.getSemaphores({ query: { node, limit: 2, cursor }, throwOnError: true });
    names.push(...page.data.items.map((s) => s.name));
    ({ cursor, more } = page.data);
  }
  assert.deepEqual(names.sort(), ["a", "b", "c"]);

  // A session and numbers go in headers.
  const session = await api.postSessionCreate({ body: { node, timeout_ms: 10000 }, throwOnError: true });
  const headers = { "Signalbox-Session": session.data.session };
  const held = await api.postSemaphoreAcquire({
    body: { node, name: "a", wait_ms: 0, data: "me" }, headers: { ...headers, "Signalbox-Sequence": "1" }, throwOnError: true,
  });
  const outcome: "acquired" | "waiting" | "not_acquired" = held.data.outcome;
  assert.equal(outcome, "acquired");
  const seen = await api.getSemaphore({ query: { node, name: "a", strict: true }, throwOnError: true });
  assert.equal(seen.data.owners[0]?.fence, held.data.fence);
  const back = await api.postSemaphoreRelease({
    body: { node, name: "a" }, headers: { ...headers, "Signalbox-Sequence": "2" }, throwOnError: true,
  });
  assert.equal(back.data.released, true);
  await api.postSessionClose({ body: {}, headers, throwOnError: true });

  // What is refused says why, in a form that is declared.
  const missing = await api.getSemaphore({ query: { node, name: "none" } });
  assert.equal(missing.error?.signalbox_status, "NOT_FOUND");
  assert.equal(missing.response?.status, 404);

  const rollouts = await api.getRollouts({ query: { node }, throwOnError: true });
  assert.equal(rollouts.data.items.length, 0);
  console.log("the generated client works");
}

run().catch((err) => {
  console.error(err);
  process.exit(1);
});
