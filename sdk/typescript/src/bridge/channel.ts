// How messages reach the engine on a thread of its own.
import { MessageChannel, receiveMessageOnPort, Worker, type MessagePort } from "node:worker_threads";
import { startOfClock } from "../clock.js";
import type { WorkerData } from "../engine/worker.js";
import { toPortable } from "../errors.js";
import type { FromEngine, ToEngine } from "./messages.js";
import { SharedState } from "./shared.js";

/** The way to the engine and back. */
export interface Channel {
  readonly shared: SharedState;
  post(messages: ToEngine[]): void;
  /** Delivers everything that the engine has posted, now. */
  drain(): void;
  /** Releases the thread. */
  close(): Promise<void>;
  /** Whether the engine keeps running while the program's thread is blocked. */
  readonly ownThread: boolean;
}

/** Called with messages of the engine. */
export type Deliver = (messages: FromEngine[]) => void;

/** An engine on a thread of its own: heartbeats continue while the program computes. */
export class ThreadChannel implements Channel {
  readonly shared = new SharedState();
  readonly ownThread = true;
  private readonly port: MessagePort;
  private readonly worker: Worker;

  constructor(private readonly deliver: Deliver, failed: (error: Error) => void) {
    const { port1, port2 } = new MessageChannel();
    this.port = port1;
    const workerData: WorkerData = { port: port2, shared: this.shared.buffer, clockStart: startOfClock() };
    this.worker = new Worker(new URL("../engine/worker.js", import.meta.url), {
      workerData, transferList: [port2], name: "signalbox", stdin: false,
      execArgv: [], // the program may be started with options for its own code, such as loaders
    });
    this.worker.on("error", failed);
    this.worker.on("exit", () => failed(new Error("the thread of the client has ended")));
    this.port.on("message", (messages: FromEngine[]) => deliver(messages));
  }

  post(messages: ToEngine[]): void {
    for (const m of messages) if ("credentials" in m && m.error !== undefined) m.error = toPortable(m.error);
    this.port.postMessage(messages);
  }

  drain(): void {
    for (let m = receiveMessageOnPort(this.port); m !== undefined; m = receiveMessageOnPort(this.port)) {
      this.deliver(m.message as FromEngine[]);
    }
  }

  async close(): Promise<void> {
    this.worker.removeAllListeners();
    this.port.close();
    await this.worker.terminate();
  }
}
