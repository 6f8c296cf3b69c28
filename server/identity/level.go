package identity

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/signalbox/signalbox/protocol/level"
)

// LevelName is the file name of the feature level record.
const LevelName = "level.json"

// levelRecord stores the feature level up to which the directory's data was written. A build that supports only lower
// levels cannot use the directory. Package installers read the level before they replace a newer build.
type levelRecord struct {
	Level level.Level `json:"level"`
}

// ReadLevel returns the highest recorded feature level of a directory's data, 0 if no host has recorded a level.
// ReadLevel takes no lock, so a host may use the directory meanwhile.
func ReadLevel(dir string) (level.Level, error) {
	var r levelRecord
	if err := readRecord(dir, LevelName, &r); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%s: %s: %w", dir, LevelName, err)
	}
	return r.Level, nil
}

// NoteLevel records the feature level of the directory's data. Levels up to the recorded level write nothing. An
// unreadable record is replaced, because the log contains the level too.
func (d *Directory) NoteLevel(l level.Level) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l <= d.level {
		return nil
	}
	if noted, err := ReadLevel(d.path); err != nil || noted < l {
		if err := writeRecord(d.path, LevelName, &levelRecord{l}); err != nil {
			return fmt.Errorf("cannot write the feature level to %s: %w", d.path, err)
		}
	}
	d.level = l
	return nil
}
