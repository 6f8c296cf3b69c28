//go:build !linux

package direct

import (
	"errors"
	"os"
)

// openDirect is for systems that can write past the cache.
func openDirect(string) (*os.File, error) { return nil, errors.ErrUnsupported }

// syncData makes what was written to a file outlast a crash.
func syncData(f *os.File) error { return f.Sync() }
