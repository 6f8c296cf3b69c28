package raftlog

import (
	"log/slog"
	_ "unsafe" // for go:linkname
)

// The engine keeps unapplied entries in a slice, and makes a new slice whenever the slice has become empty: with room
// for 512 entries, which are 40 KiB, after every batch where one batch comes at a time. These slices are nine tenths of
// all memory that a host allocates, and cost a fifth of the processor time of a batch. The engine's only setting for
// the room is a file in the working directory, which is no place for a host to write to. So this file sets two
// variables of the engine, if the variables have the values of the version whose source was read. "make engine" says
// whether a later version still has the variables.
const (
	foundRoom, entriesRoom = 512, 4 // of a new slice: two batches are under way, and more batches make the slice grow
	foundFree, entriesFree = 96, 1  // a slice with less free room is replaced
)

// entrySliceSize is the engine's room of a new slice.
//
//go:linkname entrySliceSize github.com/lni/dragonboat/v4/internal/raft.entrySliceSize
var entrySliceSize uint64

// minEntrySliceSize is the room below which the engine replaces a slice. It must be less than entrySliceSize.
//
//go:linkname minEntrySliceSize github.com/lni/dragonboat/v4/internal/raft.minEntrySliceSize
var minEntrySliceSize uint64

// entrySlicesSet: the engine had the expected values.
var entrySlicesSet bool

func init() { entrySlicesSet = setEntrySlices(&entrySliceSize, &minEntrySliceSize) }

// setEntrySlices sets the two variables, unless the variables have unexpected values: a later version may use the
// variables differently, or the user of the engine has set them.
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
