// The routing: which hosts there are, which host leads which shard, and the shard of every slot.
import type { Messages } from "../protocol/messages.js";
import type { DetailRecord } from "../protocol/messages.js";
import { SLOTS } from "../protocol/slots.js";
import type { Connection } from "./connection.js";
import type { Host, Tried } from "./host.js";

/** A host that has left the cluster. */
const STATE_GONE = 3;

/** The hosts of one shard. */
export class Shard {
  constructor(readonly id: number, public leader: Host | undefined, readonly replicas: Host[]) {}

  /** The next host in a ring that has a replica: preferably one that can be reached. */
  replica(start: number, tried: Tried): Host | undefined {
    return tried.next(rotated(this.replicas, start), (h) => h.failures === 0);
  }

  /** The leader, and another host with a replica if the leader did not answer. */
  near(tried: Tried): Host | undefined {
    const replica = this.replica(randomStart(), tried);
    if (this.leader === undefined || this.leader === tried.latest) return replica;
    // Once all were tried, another leader may have been elected meanwhile.
    return !tried.has(this.leader) || tried.has(replica) ? this.leader : replica;
  }
}

/** What the routing needs from its cluster. */
export interface RoutingOwner {
  /** Returns the host with an id, and notes an address. */
  host(id: number, address: string): Host;
  /** Requests the routing in the background. */
  refreshSoon(conn: Connection | undefined): void;
}

/** The routing as the client knows it. */
export class Routing {
  version = 0;
  meta = 0;
  readonly shards = new Map<number, Shard>();
  private slots: (number | undefined)[] = new Array<number | undefined>(SLOTS);
  /** Slots that have moved: they count more than `slots`. The higher generation wins. */
  private readonly places = new Map<number, { shard: number; generation: number }>();
  private readonly terms = new Map<number, number>();

  constructor(private readonly owner: RoutingOwner) {}

  /** Takes an answer over. One with an older version comes from a host that lags. */
  learn(a: Messages["ROUTING_ANSWER"]): void {
    if (a.version < this.version || a.shards.length === 0) return;
    const hosts = new Map(a.hosts.filter((h) => h.state !== STATE_GONE).map((h) => [h.id, this.owner.host(h.id, h.address)]));
    const before = new Map(this.shards);
    this.shards.clear();
    for (const s of a.shards) {
      const known = before.get(s.id)?.leader;
      const leader = hosts.get(s.leader_host_id) ?? known;
      if (known !== undefined && known !== leader) known.conn?.heartbeat.doubt();
      const replicas = s.replica_host_ids.map((id) => hosts.get(id)).filter((h) => h !== undefined);
      this.shards.set(s.id, new Shard(s.id, leader, replicas));
    }
    this.slots = new Array<number | undefined>(SLOTS);
    for (const r of a.slots) {
      const last = Math.min(r.last, SLOTS - 1);
      this.slots.fill(r.shard_id, r.first, last + 1);
      if (r.generation > 0) for (let slot = r.first; slot <= last; slot++) this.place(slot, r.shard_id, r.generation);
    }
    this.version = a.version;
    this.meta = a.meta_shard_id;
  }

  /** Notes the location of a slot, and returns false if a higher generation is known. */
  private place(slot: number, shard: number, generation: number): boolean {
    const known = this.generation(slot);
    if (generation > known) this.places.set(slot, { shard, generation });
    return generation >= known;
  }

  /** The known generation of a slot. Reads include it, so that no host answers with state from before a move. */
  generation(slot: number): number {
    return this.places.get(slot)?.generation ?? 0;
  }

  /** The shard of a slot. */
  at(slot: number): Shard | undefined {
    const id = this.places.get(slot)?.shard ?? this.slots[slot];
    return id === undefined ? undefined : this.shards.get(id);
  }

  /** Follows a MOVED. It returns false if a higher generation is known: the host lags, and its answer is dropped. */
  moved(d: DetailRecord, conn: Connection | undefined): boolean {
    if (d.generation > 0) {
      if (!this.place(d.slot % SLOTS, d.shard_id, d.generation)) {
        this.owner.refreshSoon(undefined); // the recorded shard may have another leader
        return false;
      }
      if (!this.shards.has(d.shard_id) && d.leader_host_id > 0) {
        // Until there is a newer routing, the leader is the only known host of the shard.
        const leader = this.owner.host(d.leader_host_id, d.leader_address);
        this.shards.set(d.shard_id, new Shard(d.shard_id, leader, [leader]));
      }
    }
    this.led(d.shard_id, d.leader_host_id, d.leader_address, d.routing_version, conn);
    return true;
  }

  /** Follows a push, and returns whether it reports a new leader. */
  changed(push: Messages["ROUTING_CHANGED"], isKnownHost: (id: number) => boolean, conn: Connection): boolean {
    const news = push.leader_host_id !== 0 && push.term > (this.terms.get(push.shard_id) ?? 0);
    if (news) {
      this.terms.set(push.shard_id, push.term);
      this.led(push.shard_id, isKnownHost(push.leader_host_id) ? push.leader_host_id : 0, "", 0, conn);
    }
    if (push.version > this.version) this.owner.refreshSoon(conn);
    return news;
  }

  private led(id: number, leader: number, address: string, version: number, conn: Connection | undefined): void {
    const shard = this.shards.get(id);
    if (leader === 0 || shard === undefined) {
      this.owner.refreshSoon(conn);
      return;
    }
    if (version > this.version) this.owner.refreshSoon(conn);
    const before = shard.leader;
    shard.leader = this.owner.host(leader, address);
    if (before !== undefined && before !== shard.leader && before.conn !== conn) before.conn?.heartbeat.doubt();
  }

  /** The ids of all shards except the meta shard. */
  dataShards(): number[] {
    return [...this.shards.keys()].filter((id) => id !== this.meta);
  }
}

/** The items from a position on, and then those before it. */
export function rotated<T>(items: T[], start: number): T[] {
  const first = items.length === 0 ? 0 : start % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}

/** A random position. */
export function randomStart(): number {
  return Math.floor(Math.random() * 65536);
}

/** The items in random order. */
export function shuffled<T>(items: readonly T[]): T[] {
  const out = [...items];
  for (let i = out.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [out[i], out[j]] = [out[j]!, out[i]!];
  }
  return out;
}
