package raftlog

import (
	"log/slog"
	_ "unsafe" // for go:linkname
)

// The engine keeps unapplied entries in a slice, and allocates a new slice whenever the slice has become empty: with
// capacity for 512 entries, which takes 40 KiB, after every batch if batches come one at a time. These slices are nine
// tenths of all memory a host allocates, and cost a fifth of a batch's processor time. The engine's only capacity
// setting is a file in the working directory, which is no place for a host to write to. So this file sets two engine
// variables, if they have the values known from the reviewed source version. "make engine" reports whether a later
// version still has the variables.
const (
	foundRoom, entriesRoom = 512, 4 // a new slice's capacity: two batches are in progress, more grow it
	foundFree, entriesFree = 96, 1  // a slice with less free capacity is replaced
)

// entrySliceSize is the engine's capacity for a new slice.
//
//go:linkname entrySliceSize github.com/lni/dragonboat/v4/internal/raft.entrySliceSize
var entrySliceSize uint64

// minEntrySliceSize is the free capacity below which the engine replaces a slice. It must be less than entrySliceSize.
//
//go:linkname minEntrySliceSize github.com/lni/dragonboat/v4/internal/raft.minEntrySliceSize
var minEntrySliceSize uint64

// entrySlicesSet is true if the engine had the expected values.
var entrySlicesSet bool

func init() { entrySlicesSet = setEntrySlices(&entrySliceSize, &minEntrySliceSize) }

// setEntrySlices sets the two variables, unless they have unexpected values: a later engine version may use them
// differently, or the program has set them.
func setEntrySlices(room, free *uint64) bool {
	if *room != foundRoom || *free != foundFree {
		return false
	}
	*room, *free = entriesRoom, entriesFree
	return true
}

// reportEntrySlices logs that the variables were not changed.
func reportEntrySlices(logger *slog.Logger) {
	if !entrySlicesSet {
		logger.Info("the engine's slices of entries are left as they are: a batch takes more memory and processor time",
			"room", entrySliceSize, "free", minEntrySliceSize)
	}
}
