package meta

import (
	"cmp"
	"slices"
)

// index keeps immutable values sorted by key. It is guarded by the machine's lock. What freeze returned
// never changes: the write that follows works on a copy.
//
// A write moves half of the pointers on average. At MaxNodes that is far below what committing the
// command costs, and a plain list is the fastest to page through.
type index[K cmp.Ordered, V any] struct {
	key     func(*V) K
	entries []*V
	frozen  bool // entries belongs to a snapshot too
}

// search returns the place of the key, or where it would stand.
func (x *index[K, V]) search(k K) (int, bool) {
	return slices.BinarySearchFunc(x.entries, k, func(v *V, k K) int { return cmp.Compare(x.key(v), k) })
}

// get returns the value of the key, nil where there is none.
func (x *index[K, V]) get(k K) *V {
	if i, ok := x.search(k); ok {
		return x.entries[i]
	}
	return nil
}

// after returns the place of the first value whose key comes after k.
func (x *index[K, V]) after(k K) int {
	i, found := x.search(k)
	if found {
		i++
	}
	return i
}

// page returns up to limit values from the place on, up to the place end, and whether there are more.
func (x *index[K, V]) page(from, end, limit int) (page []*V, more bool) {
	if end-from > limit {
		return slices.Clone(x.entries[from : from+limit]), true
	}
	return slices.Clone(x.entries[from:end]), false
}

// put adds the value, or puts it in the place of the one with its key.
func (x *index[K, V]) put(v *V) {
	x.thaw()
	i, found := x.search(x.key(v))
	if found {
		x.entries[i] = v
		return
	}
	x.entries = slices.Insert(x.entries, i, v)
}

// remove takes out the value of the key, which must be there.
func (x *index[K, V]) remove(k K) {
	x.thaw()
	i, found := x.search(k)
	assert(found, "what is removed is there")
	x.entries = slices.Delete(x.entries, i, i+1)
}

// freeze returns the values as they are now.
func (x *index[K, V]) freeze() []*V {
	x.frozen = true
	return x.entries[:len(x.entries):len(x.entries)]
}

// thaw makes the entries writable. The copy has room to grow, so that a put does not copy once more.
func (x *index[K, V]) thaw() {
	if !x.frozen {
		return
	}
	entries := make([]*V, len(x.entries), len(x.entries)+len(x.entries)/8+8)
	copy(entries, x.entries)
	x.entries, x.frozen = entries, false
}
