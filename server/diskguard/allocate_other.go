//go:build !linux

package diskguard

import "os"

// allocate reserves disk blocks for a file up to a size.
func allocate(file *os.File, size int64) error { return write(file, size) }
