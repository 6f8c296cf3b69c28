//go:build !linux

package direct

import (
	"errors"
	"os"
)

// openDirect is for systems that can write past the cache.
func openDirect(string) (*os.File, error) { return nil, errors.ErrUnsupported }

// SyncData implements File.
func (f osFile) SyncData() error { return f.Sync() }
