package identity

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// FileName is the name of the identity in the data directory.
	FileName = "identity.json"
	// Format is the version of the data directory that this program writes, and the highest that it
	// reads. It stands for everything in the directory.
	Format = 1

	lockName      = "lock"
	temporaryName = FileName + ".new"
	// LogName is the directory of the log in the data directory.
	LogName = "raft"

	maxFileBytes = 1 << 20
)

// envelope is the file: what a reader needs before it may trust the rest, and the rest.
type envelope struct {
	Format int `json:"format"`
	// SHA256 is that of the identity without the white space in it.
	SHA256   string          `json:"sha256"`
	Identity json.RawMessage `json:"identity"`
}

// Read returns the identity of a data directory. It takes no lock, so it may be called while a host
// runs on the directory.
func Read(dir string) (Identity, error) {
	path := filepath.Join(dir, FileName)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return Identity{}, fmt.Errorf("identity: %s: %w: there is no such directory", dir, ErrNone)
		}
		return Identity{}, fmt.Errorf("identity: %s: %w: no host has used it", dir, ErrNone)
	}
	if err != nil {
		return Identity{}, fmt.Errorf("identity: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFileBytes))
	if err != nil {
		return Identity{}, fmt.Errorf("identity: read %s: %w", path, err)
	}
	id, err := decode(text)
	if errors.Is(err, ErrDamaged) {
		err = fmt.Errorf("%w; put %s back as it was from a backup: what it says cannot be found out otherwise", err,
			FileName)
	}
	if err != nil {
		return Identity{}, fmt.Errorf("identity: %s: %w", path, err)
	}
	return id, nil
}

// decode reads the text of the file. The format comes first: what another one means by the rest is not
// for this program to say.
func decode(text []byte) (Identity, error) {
	var e envelope
	if err := json.Unmarshal(text, &e); err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if e.Format > Format {
		return Identity{}, fmt.Errorf("%w: it has format %d, this program knows formats up to %d; "+
			"use the version that wrote it, or a newer one",
			ErrNewer, e.Format, Format)
	}
	if e.Format < 1 {
		return Identity{}, fmt.Errorf("%w: it has no format", ErrDamaged)
	}
	sum, err := checksum(e.Identity)
	if err != nil || sum != e.SHA256 {
		return Identity{}, fmt.Errorf("%w: its checksum is not that of its content", ErrDamaged)
	}
	var id Identity
	if err := json.Unmarshal(e.Identity, &id); err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err := id.check(); err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return id, nil
}

func encode(id *Identity) ([]byte, error) {
	body, err := json.Marshal(id)
	if err != nil {
		return nil, err
	}
	sum, err := checksum(body)
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(envelope{Format: Format, SHA256: sum, Identity: body}, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(text, '\n'), nil
}

// checksum is that of JSON without its white space, so that the file may be indented for people.
func checksum(body []byte) (string, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, body); err != nil {
		return "", err
	}
	sum := sha256.Sum256(compact.Bytes())
	return hex.EncodeToString(sum[:]), nil
}

// write puts the identity into the directory: when it returns nil the identity outlives a power failure,
// and whatever happens before, the directory has the old one or none.
func write(dir string, id *Identity) error {
	text, err := encode(id)
	if err != nil {
		return err
	}
	temporary := filepath.Join(dir, temporaryName)
	file, err := os.OpenFile(temporary, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(temporary, filepath.Join(dir, FileName)); err != nil {
		return err
	}
	return syncDirectory(dir)
}

// syncDirectory makes the names in a directory outlive a power failure.
func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
