// One connection to a host, from its welcome to its end. A connection is never repaired: its host makes another one.
import type { Socket } from "node:net";
import { SignalboxError } from "../errors.js";
import { now } from "../clock.js";
import { Frames } from "../protocol/frames.js";
import {
  bigintAt, encodeFrame, fieldsOf, isAnswer, isKnown, kindOf, Status, uintAt,
} from "../protocol/message.js";
import type { MessageName, Messages } from "../protocol/messages.js";
import { Malformed, readMessage, type Raw, type RawMessage } from "../protocol/reader.js";
import { Heartbeat } from "./heartbeat.js";
import { errorOf, refusalOf, statusOf, TransportError } from "./refusal.js";
import { Deferred, type Scope } from "./waiting.js";

/** Longest payload that is read before a host has announced its limits: that of the longest data. */
const LONGEST = 262144 + 2 * 1048576 + 65536;
/** Longest payload of a HELLO. */
const HELLO_LIMIT = 8192;
/** The second-block pushes that the client understands. */
const PUSHES = [kindOf("TOKEN_EXPIRING")];

const HOLDING_LOST = kindOf("HOLDING_LOST");
const SESSION_DETACHED = kindOf("SESSION_DETACHED");
const SESSION_ENDED = kindOf("SESSION_ENDED");
const ROUTING_CHANGED = kindOf("ROUTING_CHANGED");
const GOING_AWAY = kindOf("GOING_AWAY");
const TOKEN_EXPIRING = kindOf("TOKEN_EXPIRING");
const WELCOME = kindOf("WELCOME");

/** Requests that keep sessions alive or free resources: they pass the limit for unanswered requests. */
const URGENT = new Set<MessageName>([
  "PING", "SESSION_ATTACH", "SESSION_BIND", "SESSION_STOP", "SESSION_DETACH", "ROUTING", "WATCH_STOP",
]);

/** Gets the answer to one request, and every push with its id, in the order in which the host sends them. */
export interface Handler {
  /** Takes an answer or a push, and returns whether more may follow. */
  answered(conn: Connection, raw: RawMessage): boolean;
  /** The connection is lost: nothing follows. */
  lost(conn: Connection, error: TransportError): void;
}

/** A session, as its connections see it. */
export interface AttachedSession {
  /** Takes a confirmation: a ping that was sent at this time was answered. */
  confirm(conn: Connection, sent: number): void;
  detached(conn: Connection, status: number, detail: Raw | undefined): void;
  endedByHost(reason: number): void;
  holdingLost(push: Messages["HOLDING_LOST"]): void;
  connectionLost(conn: Connection, error: TransportError): void;
}

/** The host of a connection, as the connection sees it. */
export interface Peer {
  routingChanged(conn: Connection, push: Messages["ROUTING_CHANGED"]): void;
  goingAway(conn: Connection, why: SignalboxError): void;
  tokenExpiring(push: Messages["TOKEN_EXPIRING"]): void;
  /** The host answers neither requests nor a ping. */
  silent(): void;
  connectionLost(conn: Connection): void;
}

/** A connection that many sessions and requests share. */
export class Connection {
  peer: Peer | undefined;
  welcome!: Messages["WELCOME"];
  /** Why the connection is down. */
  error: TransportError | undefined;
  /** The sessions that are attached over or bound to the connection, by id. */
  readonly sessions = new Map<bigint, AttachedSession>();
  readonly heartbeat: Heartbeat;
  private readonly frames = new Frames(LONGEST);
  private readonly handlers = new Map<number, Handler>();
  private held: [request: number, frame: Buffer][] = [];
  private out: Buffer[] = [];
  private flushing = false;
  private paused = false;
  private unanswered = 0;
  private room = 1;
  private last = 1;
  private sendLimit = HELLO_LIMIT;
  private greeting: Deferred | undefined = new Deferred();

  constructor(readonly address: string, private readonly socket: Socket) {
    this.heartbeat = new Heartbeat(this);
    socket.on("data", (chunk) => this.received(chunk));
    socket.on("drain", () => this.resume());
    socket.on("error", (error) => this.fail(error.message));
    socket.on("close", () => this.fail("the host closed the connection"));
  }

  /** Sends HELLO and waits for the WELCOME. */
  async greet(name: string, version: string, token: Uint8Array, scope: Scope): Promise<void> {
    this.heartbeat.pinged = now();
    this.socket.write(encodeFrame("HELLO", 1, {
      version_min: 1, version_max: 1, client_name: name.slice(0, 64), client_version: version, token, push_kinds: PUSHES,
    }));
    await scope.wait(this.greeting!);
  }

  private greeted(raw: RawMessage): void {
    const greeting = this.greeting!;
    this.greeting = undefined;
    if (raw[0] === GOING_AWAY) {
      greeting.reject(new TransportError(`host ${this.address}: it goes away: ${errorOf(uintAt(raw, 2), raw[3]).message}`));
      return;
    }
    if (raw[0] !== WELCOME || raw[1] !== 1) {
      greeting.reject(new TransportError(`host ${this.address}: it answered HELLO with a message of kind ${raw[0]}`));
      return;
    }
    const error = refusalOf(raw);
    if (error !== undefined) {
      greeting.reject(statusOf(error) !== Status.UNAUTHORIZED ? error : new SignalboxError(
        "UNAUTHENTICATED", `host ${this.address}: ${error.message}: pass the token of a principal that it knows`));
      return;
    }
    this.welcome = fieldsOf("WELCOME", raw);
    const { limits } = this.welcome;
    this.sendLimit = limits.request_frame_bytes || 131072;
    this.frames.limit = limits.answer_frame_bytes || 458752;
    const flight = limits.requests_in_flight || 1024;
    this.room = Math.max(flight - Math.floor(flight / 8) - 2, 1);
    this.heartbeat.start(this.welcome.ping_interval_ms);
    greeting.resolve();
  }

  /** Number of requests without an answer. */
  get open(): number {
    return this.unanswered;
  }

  /** Sends a request and returns its id. The handler gets what follows. */
  send<N extends MessageName>(handler: Handler, name: N, fields: Partial<Messages[N]>): number {
    if (this.error !== undefined) throw this.error;
    const kind = kindOf(name);
    if (kind >= 48 && !this.welcome.request_kinds.includes(kind)) {
      throw new SignalboxError("UNSUPPORTED", `host ${this.address} has an older version, which does not know ${name}`);
    }
    const request = this.last + 1;
    const frame = encodeFrame(name, request, fields);
    if (frame.length - 4 > this.sendLimit) {
      const text = `a request of ${frame.length - 4} bytes: the host accepts at most ${this.sendLimit}`;
      throw new SignalboxError("BAD_REQUEST", text);
    }
    this.last = request;
    this.handlers.set(request, handler);
    if ((this.unanswered >= this.room || this.held.length > 0 || this.paused) && !URGENT.has(name)) {
      this.held.push([request, frame]);
      return request;
    }
    this.unanswered++;
    this.write(frame);
    this.heartbeat.requested();
    return request;
  }

  /** Writes a frame. A request that is alone leaves at once; others of one turn of the event loop leave together. */
  private write(frame: Buffer): void {
    if (this.unanswered <= 1 && this.out.length === 0) {
      this.paused = !this.socket.write(frame);
      return;
    }
    this.out.push(frame);
    if (this.flushing) return;
    this.flushing = true;
    setImmediate(() => this.flush());
  }

  private flush(): void {
    this.flushing = false;
    if (this.out.length === 0 || this.error !== undefined) return;
    const frames = this.out;
    this.out = [];
    this.paused = !this.socket.write(frames.length === 1 ? frames[0]! : Buffer.concat(frames));
  }

  private resume(): void {
    this.paused = false;
    this.admit();
  }

  /** Sends requests that were held back, as far as there is room. */
  private admit(): void {
    let sent = 0;
    while (sent < this.held.length && this.unanswered < this.room && !this.paused) {
      this.unanswered++;
      this.write(this.held[sent++]![1]);
    }
    this.held.splice(0, sent);
  }

  /** Sends a request and returns its answer, raw. A refusal is thrown. */
  async call<N extends MessageName>(name: N, fields: Partial<Messages[N]>, scope: Scope): Promise<RawMessage> {
    const answer = new Deferred<RawMessage>();
    const request = this.send({
      answered: (_, raw) => {
        if (uintAt(raw, 2) === 0) fieldsOf(`${name}_ANSWER` as MessageName, raw); // a malformed answer ends the connection
        answer.resolve(raw);
        return false;
      },
      lost: (_, error) => answer.reject(error),
    }, name, fields);
    try {
      const raw = await scope.wait(answer);
      const error = refusalOf(raw);
      if (error !== undefined) throw error;
      return raw;
    } catch (e) {
      this.forget(request);
      throw e;
    }
  }

  /** Drops what still arrives for a request. */
  forget(request: number): void {
    this.handlers.delete(request);
  }

  /** Ends a watch. One that is still held back is never sent. */
  stopWatch(request: number): void {
    this.handlers.delete(request);
    const index = this.held.findIndex(([held]) => held === request);
    if (index >= 0) this.held.splice(index, 1);
    else if (this.error === undefined) this.send(UNHEARD, "WATCH_STOP", { watch_id: request });
  }

  private received(chunk: Buffer): void {
    try {
      this.frames.add(chunk);
      for (let p = this.frames.next(); p !== undefined && this.error === undefined; p = this.frames.next()) {
        this.take(readMessage(p));
      }
    } catch (e) {
      if (!(e instanceof Malformed)) throw e;
      this.fail(`it broke the protocol: ${e.message}`);
    }
  }

  private take(raw: RawMessage): void {
    if (this.greeting !== undefined) {
      this.greeted(raw);
      return;
    }
    const [kind, request] = raw;
    if (request === 0) {
      this.pushed(kind, raw);
      return;
    }
    const handler = this.handlers.get(request);
    if (isAnswer(kind)) {
      this.unanswered--;
      this.heartbeat.answers++;
      if (this.held.length > 0) this.admit();
      const status = uintAt(raw, 2); // throws if it is none
      if (handler !== undefined && !isKnown(kind) && status === 0) {
        throw new Malformed(`an answer of the unknown kind ${kind}`);
      }
    } else if (!isKnown(kind)) {
      return;
    }
    if (handler !== undefined && !handler.answered(this, raw)) this.handlers.delete(request);
  }

  private pushed(kind: number, raw: RawMessage): void {
    switch (kind) {
      case HOLDING_LOST:
        this.sessions.get(bigintAt(raw, 2))?.holdingLost(fieldsOf("HOLDING_LOST", raw));
        break;
      case SESSION_DETACHED:
        this.sessions.get(bigintAt(raw, 2))?.detached(this, uintAt(raw, 3), raw[4]);
        break;
      case SESSION_ENDED:
        this.sessions.get(bigintAt(raw, 2))?.endedByHost(uintAt(raw, 3));
        break;
      case ROUTING_CHANGED:
        this.peer?.routingChanged(this, fieldsOf("ROUTING_CHANGED", raw));
        break;
      case GOING_AWAY: {
        const error = errorOf(uintAt(raw, 2), raw[3]);
        this.peer?.goingAway(this, error);
        this.fail(`it goes away: ${error.message}`);
        break;
      }
      case TOKEN_EXPIRING:
        this.peer?.tokenExpiring(fieldsOf("TOKEN_EXPIRING", raw));
    }
  }

  /** Closes the connection, and reports that to everything that relies on it. */
  fail(why: string): void {
    if (this.error !== undefined) return;
    const error = (this.error = new TransportError(`host ${this.address}: ${why}`));
    this.heartbeat.stop();
    this.socket.destroy();
    this.greeting?.reject(error);
    const handlers = [...this.handlers.values()];
    const sessions = [...this.sessions.values()];
    this.handlers.clear();
    this.sessions.clear();
    this.held = [];
    this.out = [];
    this.peer?.connectionLost(this);
    for (const handler of handlers) handler.lost(this, error);
    for (const session of sessions) session.connectionLost(this, error);
  }
}

/** The handler of a request whose answer says nothing. */
const UNHEARD: Handler = { answered: () => false, lost: () => undefined };
