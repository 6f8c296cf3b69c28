package arena

// Table finds handles by hash: open addressing with linear probing, no tombstones. Every slot has its own Table, so a
// growing Table moves only one slot's entries. An entry holds the upper half of a hash and a handle; the caller checks
// whether the handle matches.
type Table struct {
	entries []uint64 // hash<<32 | handle; 0 is empty
	count   int
}

const tableMin = 4

// follow returns the next position. A search for a hash starts at the position given by its lower bits.
func (t *Table) follow(i int) int { return (i + 1) & (len(t.entries) - 1) }

// First returns the first handle with a hash and its position, or zero.
func (t *Table) First(hash uint32) (h Handle, place int) {
	if t.count == 0 {
		return 0, 0
	}
	return t.from(hash, int(hash)&(len(t.entries)-1))
}

// Next returns the next handle with the hash after a position, and its position, or zero.
func (t *Table) Next(hash uint32, place int) (h Handle, at int) { return t.from(hash, t.follow(place)) }

func (t *Table) from(hash uint32, place int) (Handle, int) {
	for i := place; t.entries[i] != 0; i = t.follow(i) {
		if uint32(t.entries[i]>>32) == hash {
			return Handle(t.entries[i]), i
		}
	}
	return 0, 0
}

// Insert adds a handle under its hash.
func (t *Table) Insert(hash uint32, h Handle) {
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

// Remove removes a handle, which must exist.
func (t *Table) Remove(hash uint32, h Handle) {
	e := uint64(hash)<<32 | uint64(h)
	i := int(hash) & (len(t.entries) - 1)
	for t.entries[i] != e {
		if t.entries[i] == 0 {
			panic("shard: a handle is missing in its slot's table")
		}
		i = t.follow(i)
	}
	// Close the gap: every entry that probed past the gap moves up, so no search ends early.
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

// Handles appends all handles, in no particular order.
func (t *Table) Handles(dst []Handle) []Handle {
	for _, e := range t.entries {
		if e != 0 {
			dst = append(dst, Handle(e))
		}
	}
	return dst
}

// Len returns the number of handles.
func (t *Table) Len() int { return t.count }

func (t *Table) resize(n int) {
	old := t.entries
	t.entries, t.count = make([]uint64, n), 0
	for _, e := range old {
		if e != 0 {
			t.Insert(uint32(e>>32), Handle(e))
		}
	}
}
