// The end of a session at its host.
import { now } from "../clock.js";
import { Status } from "../protocol/message.js";
import { sessionSlot } from "../protocol/slots.js";
import type { Attachment } from "./attachment.js";
import type { Connection } from "./connection.js";
import { Tried, type Host } from "./host.js";
import { isRetried, slow, statusOf } from "./refusal.js";
import { Retries } from "./retry.js";

/** Least time for one try. */
const MIN_TRY = 1000;

/** Ends a session at its host that is over for its user.
 *
 * It returns when a host says that the session is over, or when the session has ended by itself unless something renewed
 * it: a try that was not answered may have attached it once more, over a connection that others keep alive. */
export async function stop(session: Attachment): Promise<void> {
  const { cluster, life } = session.core;
  const until = session.timeout > 0 ? session.base + session.timeout + session.grace : Infinity;
  const retries = new Retries(cluster.leaders);
  const tried = new Tried();
  let conn: Connection | undefined = session.last;
  let unknowns = 0;
  for (;;) {
    if (session.timeout === 0 && (conn === undefined || conn.error !== undefined)) return; // it has ended with its connection
    retries.begin();
    let host: Host | undefined;
    let error: unknown;
    const bound = Math.max(Math.min(Math.max(session.tryTimeout(), MIN_TRY), until - now()), 0);
    try {
      await life.within(bound, () => slow("any"), async (scope) => {
        if (conn === undefined || conn.error !== undefined) {
          host = cluster.choose(cluster.leaderAt(sessionSlot(session.id)), tried);
          conn = await host.connect(scope);
          await session.attach(conn, scope);
        }
        await conn.call("SESSION_STOP", { session_id: session.id }, scope);
      });
      return;
    } catch (e) {
      error = e;
    }
    life.check();
    const status = statusOf(error);
    if (status === Status.SESSION_EXPIRED || now() >= until) return;
    if (status === Status.BAD_SESSION) {
      if (++unknowns > 1) return; // it belongs to another client
      conn = undefined;
      continue;
    }
    if (!isRetried(error)) throw error;
    await cluster.redirect(retries, error, conn, host, life);
    conn = undefined;
    tried.add(host);
    await life.within(Math.min(Math.max(until - now(), 1), 2 ** 30), () => slow("any"), (scope) => retries.again(error, scope));
  }
}
