// Opening of a socket to a host, with or without TLS.
import { connect, isIP, type Socket } from "node:net";
import type { ConnectionOptions } from "node:tls";
import { splitAddress } from "./address.js";
import { TransportError } from "./refusal.js";
import { Deferred, type Scope } from "./waiting.js";

/** Settings of TLS: true trusts the authorities of Node. */
export type Tls = boolean | ConnectionOptions | undefined;

/** Connects to an address. */
export async function dial(address: string, target: string, tls: Tls, scope: Scope): Promise<Socket> {
  const { host, port } = splitAddress(target);
  const name = splitAddress(address).host;
  // Loading TLS takes a third of the time that a program without it needs to start.
  const socket = tls ? (await import("node:tls")).connect(tlsOptions(host, port, name, tls)) : connect({ host, port });
  socket.setNoDelay(true);
  const opened = new Deferred();
  const failed = (error: Error): void => opened.reject(new TransportError(`host ${address}: ${error.message}`, error));
  const closed = (): void => opened.reject(new TransportError(`host ${address}: the connection was closed`));
  socket.once(tls ? "secureConnect" : "connect", () => opened.resolve());
  socket.once("error", failed);
  socket.once("close", closed);
  try {
    await scope.wait(opened);
  } catch (e) {
    socket.on("error", () => undefined);
    socket.destroy();
    throw e;
  }
  socket.removeListener("error", failed);
  socket.removeListener("close", closed);
  return socket;
}

function tlsOptions(host: string, port: number, name: string, tls: Tls): ConnectionOptions {
  const options = typeof tls === "object" ? tls : {};
  return { ...(isIP(name) === 0 && { servername: name }), ...options, host, port };
}
