package raftlog

import _ "unsafe" // for go:linkname

// The engine keeps the entries that are not applied yet in a slice, and makes a new one whenever that has become empty: with
// room for 512, which are 50 KiB, after every batch where one batch comes at a time. That was nine tenths of all memory
// that a host allocated, and a collection of garbage 18 times a second. It can be set by a file in the
// working directory only, which is no place for a host to write to. So these two variables of the pinned version are set
// here; TestABatchTakesLittleMemory notices where that has no effect any more.
const (
	entriesRoom = 32 // of a new slice
	entriesFree = 8  // with less room than that in it a slice is replaced; less than entriesRoom
)

//go:linkname entrySliceSize github.com/lni/dragonboat/v4/internal/raft.entrySliceSize
var entrySliceSize uint64

//go:linkname minEntrySliceSize github.com/lni/dragonboat/v4/internal/raft.minEntrySliceSize
var minEntrySliceSize uint64

func init() { entrySliceSize, minEntrySliceSize = entriesRoom, entriesFree }
