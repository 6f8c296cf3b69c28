// The client: what a program has of a cluster.
import { basename } from "node:path";
import { Link } from "./bridge/link.js";
import type { Event } from "./bridge/messages.js";
import { bytes } from "./data.js";
import { addressesOf } from "./engine/address.js";
import type { Tls } from "./engine/dial.js";
import { SignalboxError } from "./errors.js";
import type { CallOptions } from "./lease.js";
import { Node } from "./node.js";
import { Session, type SessionOptions } from "./session.js";
import type { Data, NodeConfig, NodeInfo } from "./types.js";

/** Time that closing waits for hosts to end sessions. */
const FAREWELL = 1000;

/** Settings of a client. */
export interface ConnectOptions extends CallOptions {
  /** Token that lets the client in. A function is called for each new connection. */
  token?: Data | (() => Data | Promise<Data>);
  /** TLS: true trusts the authorities of Node, an object has `ca`, `cert`, `key` and other options of `tls.connect`. A
   * function is called for each new connection, so that certificates can be replaced. Default: no TLS. */
  tls?: Tls | (() => Tls | Promise<Tls>);
  /** Name in listings of hosts. Default: the name of the program. */
  name?: string;
  /** Time, in milliseconds, for which calls without a session wait for a host. Default: 30 s. */
  timeout?: number;
  /** Time, in milliseconds, for making one connection. Default: 5 s. */
  dialTimeout?: number;
  /** Addresses to connect to instead of those that hosts advertise, such as behind port forwarding. */
  addressMap?: Record<string, string>;
  /** Run connections and heartbeats on a thread of their own, so that the program may block its event loop. Default: true. */
  thread?: boolean;
  /** Called with warnings, such as a token that expires soon. Default: process.emitWarning. */
  onWarning?: (message: string) => void;
}

/** A client of one cluster. It has one connection to each host that it needs, for all of its sessions. */
export class Client implements AsyncDisposable {
  private readonly link: Link;
  private readonly sessions = new Map<number, Session>();
  private readonly timeout: number;
  private closing: Promise<void> | undefined;

  private constructor(private readonly options: ConnectOptions, Local: ConstructorParameters<typeof Link>[0]) {
    this.timeout = options.timeout ?? 30_000;
    this.link = new Link(Local, (event) => this.take(event));
  }

  /** Connects to a cluster. @internal */
  static async open(endpoints: string | readonly string[], options: ConnectOptions): Promise<Client> {
    const addresses = addressesOf(endpoints);
    const { token, tls, dialTimeout = 5000, timeout = 30_000 } = options;
    if (!(timeout > 0 && dialTimeout > 0)) throw new SignalboxError("BAD_REQUEST", "timeouts must be above 0 ms");
    options.signal?.throwIfAborted();
    const { LocalChannel } = options.thread === false ? await import("./bridge/local.js") : {};
    const client = new Client(options, LocalChannel);
    const asked = typeof token === "function" || typeof tls === "function";
    try {
      await client.link.call("open", {
        addresses, timeout, dialTimeout, name: options.name ?? basename(process.argv[1] ?? "node"), addressMap: options.addressMap ?? {},
        credentials: asked ? undefined : { token: bytes(token), tls },
      }, { signal: options.signal });
      return client;
    } catch (e) {
      await client.link.close();
      throw e;
    }
  }

  /** Starts a session in a node. */
  async session(path: string, options: SessionOptions = {}): Promise<Session> {
    const size = Buffer.byteLength(path);
    if (size < 1 || size > 1024) throw new SignalboxError("BAD_REQUEST", `a path of ${size} bytes: 1 to 1024`);
    const session = new Session(this.link, path, options, (s) => this.sessions.delete(s.number));
    this.sessions.set(session.number, session);
    try {
      return await session.open(this.timeout);
    } catch (e) {
      this.sessions.delete(session.number);
      throw e;
    }
  }

  /** A node, for what needs no session: describe, list, watch. */
  node(path: string): Node {
    return new Node(this.link, path);
  }

  /** Creates a node. One that exists is returned as it is, so a program may call this at every start. */
  createNode(path: string, config: NodeConfig = {}, options: CallOptions = {}): Promise<NodeInfo> {
    return this.link.call("createNode", { path, config }, options);
  }

  /** Describes a node. */
  describeNode(path: string, options: CallOptions = {}): Promise<NodeInfo> {
    return this.link.call("describeNode", { path }, options);
  }

  /** Changes what is set in the config, and leaves the rest as it is. */
  alterNode(path: string, config: NodeConfig, options: { ifVersion?: number } & CallOptions = {}): Promise<NodeInfo> {
    return this.link.call("alterNode", { path, config, version: options.ifVersion ?? 0 }, { signal: options.signal });
  }

  /** Deletes a node with all its semaphores, and ends its sessions. Nothing guards a node in use. */
  dropNode(path: string, options: CallOptions = {}): Promise<void> {
    return this.link.call("dropNode", { path }, options);
  }

  /** Lists the nodes whose paths start with the prefix, in the order of their paths. */
  async *nodes(options: { prefix?: string } & CallOptions = {}): AsyncGenerator<NodeInfo, void> {
    const { prefix = "", signal } = options;
    for (let after = ""; ;) {
      const page = await this.link.call("listNodes", { prefix, after }, { signal });
      yield* page.items;
      after = page.next;
      if (after === "") return;
    }
  }

  private take(event: Event): void {
    switch (event.event) {
      case "session":
        this.sessions.get(event.session)?.changed(event);
        break;
      case "credentials":
        void this.answerCredentials(event.request);
        break;
      case "warning":
        this.warn(event.message);
        break;
      case "defect":
        this.warn(`a defect of @signalbox/client, please report it: ${String(event.error)}`);
        for (const s of [...this.sessions.values()]) s.changed({ event: "session", session: s.number, state: "ended", error: event.error });
        break;
      default: // the link has taken all other events
    }
  }

  private warn(message: string): void {
    if (this.options.onWarning !== undefined) this.options.onWarning(message);
    else process.emitWarning(message, "SignalboxWarning");
  }

  private async answerCredentials(credentials: number): Promise<void> {
    const { token, tls } = this.options;
    try {
      this.link.post({
        credentials,
        token: bytes(typeof token === "function" ? await token() : token),
        tls: typeof tls === "function" ? await tls() : tls,
      });
    } catch (e) {
      const error = new SignalboxError("UNAVAILABLE", `token or TLS settings: ${String(e)}`, { cause: e });
      this.link.post({ credentials, token: bytes(undefined), tls: undefined, error });
    }
  }

  /** Ends all sessions, waiting for hosts for up to a second, and closes the connections. */
  close(): Promise<void> {
    this.closing ??= this.closeOnce();
    return this.closing;
  }

  private async closeOnce(): Promise<void> {
    await Promise.all([...this.sessions.values()].map((s) => s.close()));
    await this.link.call("close", { timeout: FAREWELL }).catch(() => undefined);
    await this.link.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** Connects to the cluster of the hosts at the endpoints: HOST:PORT, several of them with commas or as an array. */
export function connect(endpoints: string | readonly string[], options: ConnectOptions = {}): Promise<Client> {
  return Client.open(endpoints, options);
}
