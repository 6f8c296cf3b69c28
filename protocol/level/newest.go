//go:build !previouslevel

package level

// Newest is the highest level that this build can follow.
const Newest Level = 4
