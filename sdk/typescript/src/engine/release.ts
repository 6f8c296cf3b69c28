// Releases. They continue in the background if their caller leaves.
import { LeaseLostError } from "../errors.js";
import { fieldsOf, Status } from "../protocol/message.js";
import type { Incarnation } from "./incarnation.js";
import { Mutation } from "./mutation.js";
import type { SemaphoreQueue } from "./queue.js";
import { statusOf } from "./refusal.js";

/** Gives back what the session has in a semaphore: under an order id, or whatever it is if that is 0. */
export async function release(inc: Incarnation, name: string, order: bigint): Promise<boolean> {
  if (!inc.alive()) throw inc.cause!;
  const q = await inc.queues.begin(name, inc.scope);
  try {
    return await sendRelease(inc, q, order);
  } finally {
    inc.queues.next(q);
  }
}

/** The same in the background. */
export async function releaseLater(inc: Incarnation, name: string, order: bigint): Promise<void> {
  await release(inc, name, order).catch(() => undefined);
}

/** Releases what the session has, if it has it. No other mutation of the queue is in flight. */
export async function giveBack(inc: Incarnation, q: SemaphoreQueue, order: bigint): Promise<void> {
  try {
    await sendRelease(inc, q, order);
  } catch (e) {
    if (statusOf(e) !== Status.FENCED) throw e;
  }
}

async function sendRelease(inc: Incarnation, q: SemaphoreQueue, order: bigint): Promise<boolean> {
  const m = new Mutation(inc, q, "RELEASE", { node_id: inc.nodeId, name: q.name, order_id: order });
  try {
    await inc.sendUntilAnswered(m, inc.scope);
  } catch (e) {
    if (statusOf(e) === Status.FENCED && q.lease?.fence === order) {
      q.removeLease(new LeaseLostError("the host does not know the lease"));
    }
    throw e;
  }
  return fieldsOf("RELEASE_ANSWER", m.answer!).released;
}
