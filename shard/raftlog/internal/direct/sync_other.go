//go:build !linux

package direct

import (
	"errors"
	"os"
)

// openDirect is unsupported on this system.
func openDirect(string) (*os.File, error) { return nil, errors.ErrUnsupported }

// SyncData implements File.
func (f osFile) SyncData() error { return f.Sync() }
