package identity

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/signalbox/signalbox/protocol/level"
)

// LevelName is the name of the record of the feature level.
const LevelName = "level.json"

// levelRecord says up to which feature level the data of the directory was written. A build that follows less cannot
// use the directory, which installers of packages read here before they replace a newer build.
type levelRecord struct {
	Level level.Level `json:"level"`
}

// ReadLevel returns the highest feature level that a directory is known to have data of, 0 where no host has noted one.
// It takes no lock, so it may be called while a host runs on the directory.
func ReadLevel(dir string) (level.Level, error) {
	var r levelRecord
	if err := readRecord(dir, LevelName, &r); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("identity: %s: %s: %w", dir, LevelName, err)
	}
	return r.Level, nil
}

// NoteLevel notes that the data of the directory is of a feature level. A level that is not above the one on record
// writes nothing, and a record that cannot be read is replaced: the log has the level too.
func (d *Directory) NoteLevel(l level.Level) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l <= d.level {
		return nil
	}
	if noted, err := ReadLevel(d.path); err != nil || noted < l {
		if err := writeRecord(d.path, LevelName, &levelRecord{l}); err != nil {
			return fmt.Errorf("identity: note the feature level of %s: %w", d.path, err)
		}
	}
	d.level = l
	return nil
}
