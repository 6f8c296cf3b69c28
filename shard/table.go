package shard

// table finds handles by hash: open addressing with linear probing, no tombstones. Every slot has its own table, so a
// growing table moves only the entries of one slot. An entry holds the upper half of a hash and a handle; the caller
// checks whether the handle is the right one.
type table struct {
	entries []uint64 // hash<<32 | handle; 0 is empty
	count   int
}

const tableMin = 4

// follow returns the place behind a place. A search for a hash starts at the place that the lower bits of the hash say.
func (t *table) follow(i int) int { return (i + 1) & (len(t.entries) - 1) }

func (t *table) insert(hash uint32, h handle) {
	if 4*(t.count+1) > 3*len(t.entries) {
		t.resize(max(tableMin, 2*len(t.entries)))
	}
	i := int(hash) & (len(t.entries) - 1)
	for t.entries[i] != 0 {
		i = t.follow(i)
	}
	t.entries[i] = uint64(hash)<<32 | uint64(h)
	t.count++
}

func (t *table) remove(hash uint32, h handle) {
	e := uint64(hash)<<32 | uint64(h)
	i := int(hash) & (len(t.entries) - 1)
	for t.entries[i] != e {
		if t.entries[i] == 0 {
			panic("shard: a handle is missing in its slot's table")
		}
		i = t.follow(i)
	}
	// Close the gap: every entry that probed over the gap moves up, so that no search ends early.
	gap := i
	for j := t.follow(i); t.entries[j] != 0; j = t.follow(j) {
		home := int(t.entries[j]>>32) & (len(t.entries) - 1)
		if (j-home)&(len(t.entries)-1) >= (j-gap)&(len(t.entries)-1) {
			t.entries[gap] = t.entries[j]
			gap = j
		}
	}
	t.entries[gap] = 0
	t.count--
	if len(t.entries) > tableMin && 8*t.count < len(t.entries) {
		t.resize(len(t.entries) / 2)
	}
}

func (t *table) resize(n int) {
	old := t.entries
	t.entries, t.count = make([]uint64, n), 0
	for _, e := range old {
		if e != 0 {
			t.insert(uint32(e>>32), handle(e))
		}
	}
}
