// Addresses of hosts: HOST:PORT, with brackets around an IPv6 address.
import { SignalboxError } from "../errors.js";

/** Port of hosts whose address has none. */
export const DEFAULT_PORT = 7420;

/** Splits an address into host and port. */
export function splitAddress(address: string): { host: string; port: number } {
  const match = /^(?:\[([^\]]+)\]|([^:]*)):(\d+)$/.exec(address);
  if (match !== null) return { host: match[1] ?? match[2] ?? "", port: Number(match[3]) };
  return { host: address.replace(/^\[|\]$/g, ""), port: DEFAULT_PORT };
}

/** Returns the addresses in what a program passes as endpoints. */
export function addressesOf(endpoints: string | readonly string[]): string[] {
  const parts = typeof endpoints === "string" ? endpoints.split(",") : endpoints;
  const found = parts.map((p) => p.trim()).filter((p) => p !== "");
  for (const address of found) {
    if (address.includes("://")) {
      throw new SignalboxError("BAD_REQUEST", `endpoint "${address}": pass HOST:PORT without a scheme, and TLS with tls: true`);
    }
  }
  if (found.length === 0) throw new SignalboxError("BAD_REQUEST", "no endpoint: pass HOST:PORT, or several");
  return found;
}
