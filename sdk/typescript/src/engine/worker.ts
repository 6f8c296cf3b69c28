// The thread of an engine.
import { workerData, type MessagePort } from "node:worker_threads";
import type { FromEngine, ToEngine } from "../bridge/messages.js";
import { SharedState } from "../bridge/shared.js";
import { adoptClock } from "../clock.js";
import { fromPortable, toPortable, type PortableError } from "../errors.js";
import { Engine } from "./engine.js";

/** What the program's thread passes to the engine's. */
export interface WorkerData {
  port: MessagePort;
  shared: SharedArrayBuffer;
  clockStart: number;
}

const { port, shared, clockStart } = workerData as WorkerData;
adoptClock(clockStart);

let batch: FromEngine[] = [];

/** Posts a message. All messages of one turn are posted together. */
function post(message: FromEngine): void {
  if (batch.length === 0) setImmediate(flush);
  if ("error" in message && message.error !== undefined) message = { ...message, error: toPortable(message.error) };
  batch.push(message);
}

function flush(): void {
  const messages = batch;
  batch = [];
  port.postMessage(messages);
}

const engine = new Engine(new SharedState(shared), post, true);

port.on("message", (messages: ToEngine[]) => {
  for (const message of messages) {
    if ("credentials" in message && message.error !== undefined) {
      message.error = fromPortable(message.error as PortableError);
    }
    engine.receive(message);
  }
});
