package diskguard

import "fmt"

// Space is how much room a file system has, in bytes.
type Space struct {
	Total uint64
	// Free is what this process may still fill.
	Free uint64
}

// Volume tells how much room there is. Tests have their own.
type Volume interface {
	Space() (Space, error)
}

// Directory is the file system of a directory.
type Directory string

// DefaultLow is the low mark for a file system of that size: a twentieth of it, but 256 MiB to 2 GiB,
// because what a host has under way does not grow with its disk, and never more than a quarter, so that
// a small disk can be used at all.
func DefaultLow(total uint64) uint64 {
	const least, most = 256 << 20, 2 << 30
	return min(max(total/20, least), most, total/4)
}

// mark shows bytes to people.
func mark(bytes uint64) string {
	switch {
	case bytes >= 10<<30:
		return fmt.Sprintf("%d GiB", bytes>>30)
	case bytes >= 10<<20:
		return fmt.Sprintf("%d MiB", bytes>>20)
	case bytes >= 10<<10:
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
