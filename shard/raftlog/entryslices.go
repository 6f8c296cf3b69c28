package raftlog

import (
	"log/slog"
	_ "unsafe" // for go:linkname
)

// The engine keeps the entries that are not applied yet in a slice, and makes a new one whenever that has become empty:
// with room for 512, which are 40 KiB, after every batch where one batch comes at a time. That is nine tenths of all
// memory that a host allocates, and a fifth of the processor time of a batch. It can be set by a file in the working
// directory only, which is no place for a host to write to. So these two variables of the engine are set here, if they
// have the values of the version that this was read in. `make engine` says whether another version still has them.
const (
	foundRoom, entriesRoom = 512, 4 // of a new slice: two batches are under way, and more of them make the slice grow
	foundFree, entriesFree = 96, 1  // with less room than that in it a slice is replaced
)

// entrySliceSize is the engine's room of a new slice.
//
//go:linkname entrySliceSize github.com/lni/dragonboat/v4/internal/raft.entrySliceSize
var entrySliceSize uint64

// minEntrySliceSize is the room below which the engine replaces a slice. It must be less than entrySliceSize.
//
//go:linkname minEntrySliceSize github.com/lni/dragonboat/v4/internal/raft.minEntrySliceSize
var minEntrySliceSize uint64

// entrySlicesSet: the engine had the values that are replaced.
var entrySlicesSet bool

func init() { entrySlicesSet = setEntrySlices(&entrySliceSize, &minEntrySliceSize) }

// setEntrySlices sets the two variables, unless they have other values than those that are expected: another version
// may use them in another way, or the user of the engine has set them.
func setEntrySlices(room, free *uint64) bool {
	if *room != foundRoom || *free != foundFree {
		return false
	}
	*room, *free = entriesRoom, entriesFree
	return true
}

// reportEntrySlices logs that the variables were left alone.
func reportEntrySlices(logger *slog.Logger) {
	if !entrySlicesSet {
		logger.Info("the engine's slices of entries are left as they are: a batch takes more memory and processor time",
			"room", entrySliceSize, "free", minEntrySliceSize)
	}
}
