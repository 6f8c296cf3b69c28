package access

import "time"

// The limits of a file of tokens.
const (
	// MaxEntries is how many entries it may have, MaxPaths how many paths one of them.
	MaxEntries = 10_000
	MaxPaths   = 1_000
	// MaxFileBytes is how long it may be.
	MaxFileBytes = 16 << 20
	// MaxNameBytes is the longest name in an entry.
	MaxNameBytes = 256

	// pollInterval is how often the file is looked at. A change counts when two looks found the same, so
	// that a file that is just being written is not read half.
	pollInterval = 500 * time.Millisecond
	// tokenBytes is how much chance is in a new token.
	tokenBytes = 32
)
