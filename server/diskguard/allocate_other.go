//go:build !linux

package diskguard

import "os"

// allocate gives a file blocks up to a size.
func allocate(file *os.File, size int64) error { return write(file, size) }
