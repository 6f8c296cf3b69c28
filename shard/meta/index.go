package meta

import (
	"cmp"
	"slices"
)

// index keeps immutable values sorted by key, under the machine's lock. A list returned by freeze never changes: the
// next write works on a copy.
//
// A write moves half the pointers on average. At MaxNodes the cost is far below the cost of committing the command, and
// a plain list is the fastest to page through.
type index[K cmp.Ordered, V any] struct {
	key     func(*V) K
	entries []*V
	frozen  bool // entries is shared with a snapshot
}

// search returns the key's index, or its insertion index.
func (in *index[K, V]) search(k K) (int, bool) {
	return slices.BinarySearchFunc(in.entries, k, func(v *V, k K) int { return cmp.Compare(in.key(v), k) })
}

// get returns the key's value, or nil.
func (in *index[K, V]) get(k K) *V {
	if i, ok := in.search(k); ok {
		return in.entries[i]
	}
	return nil
}

// after returns the index of the first value with a key behind k.
func (in *index[K, V]) after(k K) int {
	i, found := in.search(k)
	if found {
		i++
	}
	return i
}

// page returns up to limit values from index from, before index end, and whether there are more.
func (in *index[K, V]) page(from, end, limit int) (page []*V, more bool) {
	if end-from > limit {
		return slices.Clone(in.entries[from : from+limit]), true
	}
	return slices.Clone(in.entries[from:end]), false
}

// put adds the value, or replaces the value with the same key.
func (in *index[K, V]) put(v *V) {
	in.thaw()
	i, found := in.search(in.key(v))
	if found {
		in.entries[i] = v
		return
	}
	in.entries = slices.Insert(in.entries, i, v)
}

// remove removes the key's value, which must exist.
func (in *index[K, V]) remove(k K) {
	in.thaw()
	i, found := in.search(k)
	assert(found, "what is removed is there")
	in.entries = slices.Delete(in.entries, i, i+1)
}

// freeze returns the present values.
func (in *index[K, V]) freeze() []*V {
	in.frozen = true
	return in.entries[:len(in.entries):len(in.entries)]
}

// thaw makes the entries writable. The copy has spare capacity, so a put does not copy again.
func (in *index[K, V]) thaw() {
	if !in.frozen {
		return
	}
	entries := make([]*V, len(in.entries), len(in.entries)+len(in.entries)/8+8)
	copy(entries, in.entries)
	in.entries, in.frozen = entries, false
}
