// A one-shot watch, from its description to the one change that it reports.
import { fieldsOf, kindOf } from "../protocol/message.js";
import type { Messages } from "../protocol/messages.js";
import type { RawMessage } from "../protocol/reader.js";
import type { Connection, Handler } from "./connection.js";
import type { Incarnation, Notice } from "./incarnation.js";
import { refusalOf, type TransportError } from "./refusal.js";
import { Deferred, type Scope } from "./waiting.js";

const WATCH_CHANGED = kindOf("WATCH_CHANGED");

/** Waits for the answer to a description, and for the change after it. */
export class OneShotWatch implements Notice, Handler {
  private readonly described = new Deferred<Messages["SEMAPHORE_DESCRIBE_ANSWER"]>();
  private request = 0;
  private over = false;

  constructor(
    private readonly session: Incarnation, readonly conn: Connection,
    private readonly report: (data: boolean, owners: boolean) => void,
  ) {}

  /** Describes the semaphore, and leaves the watch. */
  async describe(fields: Partial<Messages["SEMAPHORE_DESCRIBE"]>, scope: Scope): Promise<Messages["SEMAPHORE_DESCRIBE_ANSWER"]> {
    this.request = this.conn.send(this, "SEMAPHORE_DESCRIBE", fields);
    try {
      return await scope.wait(this.described);
    } catch (e) {
      this.conn.forget(this.request);
      this.session.notices.delete(this);
      throw e;
    }
  }

  answered(_: Connection, raw: RawMessage): boolean {
    if (raw[0] === WATCH_CHANGED) {
      const a = fieldsOf("WATCH_CHANGED", raw);
      this.notify(a.data, a.owners);
      return false;
    }
    const error = refusalOf(raw);
    if (error !== undefined) {
      this.described.reject(error);
      return false;
    }
    const a = fieldsOf("SEMAPHORE_DESCRIBE_ANSWER", raw);
    this.described.resolve(a);
    this.session.notices.add(this);
    if (!a.watch_added) this.notify(false, false);
    return a.watch_added;
  }

  lost(_: Connection, error: TransportError): void {
    if (this.described.settled) this.notify(false, false);
    else this.described.reject(error);
  }

  notify(data: boolean, owners: boolean): void {
    this.session.notices.delete(this);
    if (this.over) return;
    this.over = true;
    this.conn.forget(this.request);
    this.report(data, owners);
  }
}
