// Lists of what all slots have, while slots move between shards.
import type { ListPage, Part } from "./bridge/messages.js";
import { SLOTS } from "./protocol/slots.js";

/** Maximum items on a page. */
const PAGE_ITEMS = 1000;

/** The next items of some slots of one shard, complete up to `end`; empty or 0 means the end of the list. */
interface Section<T, K> {
  shard: number;
  slots: number[];
  items: T[];
  end: K;
}

/** Lists what all slots have, sorted by key. Every key is read once for every slot, from a shard that has the slot at that
 * time. So an item that exists throughout is listed once, although slots move. */
export async function* listed<T, K extends string | bigint>(
  start: K, key: (item: T) => K, groups: (slots: number[]) => Promise<number[][]>,
  read: (part: Part<K>) => Promise<ListPage<T, K>>,
): AsyncGenerator<T, void> {
  let sections: Section<T, K>[] = [];
  let unread = Array.from({ length: SLOTS }, (_, slot) => slot);
  for (let after = start, limit = 0; ;) {
    while (unread.length > 0) {
      const grouped = await groups(unread.sort((a, b) => a - b));
      // A caller that takes few items should not pay for a full page of every shard.
      if (limit === 0) limit = Math.ceil(2 * PAGE_ITEMS / grouped.length);
      unread = [];
      for (const slots of grouped) {
        const { items, next, missing, shard } = await read({ slots, after, limit: Math.min(limit, PAGE_ITEMS) });
        const moved = new Set(missing);
        sections.push({ shard, slots: slots.filter((slot) => !moved.has(slot)), items, end: next });
        unread.push(...missing);
      }
    }
    limit *= 2;
    const ends = sections.map((s) => s.end).filter(Boolean).sort(order);
    const end = ends[0];
    const upTo = (item: T): boolean => end === undefined || order(key(item), end) <= 0;
    yield* sections.flatMap((s) => s.items.filter(upTo)).sort((a, b) => order(key(a), key(b)));
    if (end === undefined) return;
    after = end;
    // All sections of a shard are read again together: otherwise every move would leave one section more.
    const due = new Set(sections.filter((s) => s.end === end).map((s) => s.shard));
    unread = sections.filter((s) => due.has(s.shard)).flatMap((s) => s.slots);
    sections = sections.filter((s) => !due.has(s.shard));
    for (const s of sections) s.items = s.items.filter((item) => !upTo(item));
  }
}

/** Compares keys. Names are in the order of their bytes in UTF-8. */
function order<K extends string | bigint>(a: K, b: K): number {
  if (typeof a === "string") return Buffer.compare(Buffer.from(a), Buffer.from(b as string));
  return a < b ? -1 : Number(a > b);
}
