package identity

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

const (
	// FileName is the identity's file name in the data directory.
	FileName = "identity.json"
	// PeersName is the file name for the record with remote hosts' starts.
	PeersName = "peers.json"
	// SecretName is the file name for the cluster secret received at the join.
	SecretName = "raft-secret"
	// LogName is the log directory's name in the data directory.
	LogName = "raft"

	lockName = "lock"
)

// Read returns a data directory's identity. Read takes no lock, so a host may use the directory meanwhile.
func Read(dir string) (Identity, error) {
	var id Identity
	err := readRecord(dir, FileName, &id)
	switch {
	case err == nil:
		if err = id.check(); err != nil {
			err = fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return Identity{}, fmt.Errorf("%s: %w: the directory does not exist", dir, ErrNone)
		}
		return Identity{}, fmt.Errorf("%s: %w: no host has used it", dir, ErrNone)
	}
	if errors.Is(err, ErrDamaged) {
		err = fmt.Errorf("%w; restore %s from a backup: its content cannot be reconstructed", err,
			FileName)
	}
	if err != nil {
		return Identity{}, fmt.Errorf("%s: %w", dir, err)
	}
	return id, nil
}
