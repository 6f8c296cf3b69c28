package identity

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

const (
	// FileName is the name of the identity in the data directory.
	FileName = "identity.json"
	// PeersName is the name of the record of the starts of other hosts.
	PeersName = "peers.json"
	// SecretName is the name of the secret of the cluster, given to the host at its join.
	SecretName = "raft-secret"
	// LogName is the directory of the log in the data directory.
	LogName = "raft"

	lockName = "lock"
)

// Read returns the identity of a data directory. Read takes no lock, so a host may run on the directory meanwhile.
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
			return Identity{}, fmt.Errorf("%s: %w: there is no such directory", dir, ErrNone)
		}
		return Identity{}, fmt.Errorf("%s: %w: no host has used it", dir, ErrNone)
	}
	if errors.Is(err, ErrDamaged) {
		err = fmt.Errorf("%w; put %s back as it was from a backup: what it says cannot be found out otherwise", err,
			FileName)
	}
	if err != nil {
		return Identity{}, fmt.Errorf("%s: %w", dir, err)
	}
	return id, nil
}
