// How messages reach the engine on the program's thread. Programs whose engine has a thread do not load this.
import { Engine } from "../engine/engine.js";
import type { Channel, Deliver } from "./channel.js";
import type { FromEngine, ToEngine } from "./messages.js";
import { SharedState } from "./shared.js";

/** An engine on the program's thread: it stands still while the program computes. */
export class LocalChannel implements Channel {
  readonly shared = new SharedState();
  readonly ownThread = false;
  private readonly engine: Engine;
  private pending: FromEngine[] = [];

  constructor(private readonly deliver: Deliver) {
    this.engine = new Engine(this.shared, (message) => {
      if (this.pending.length === 0) queueMicrotask(() => this.flush());
      this.pending.push(message);
    }, false);
  }

  post(messages: ToEngine[]): void {
    for (const m of messages) this.engine.receive(m);
  }

  drain(): void {
    this.engine.look();
    this.flush();
  }

  private flush(): void {
    const messages = this.pending;
    this.pending = [];
    if (messages.length > 0) this.deliver(messages);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
