package identity

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/signalbox/signalbox/protocol/level"
)

// LevelName is the name of the record of the feature level.
const LevelName = "level.json"

// levelRecord says up to which feature level the data of the directory was written. A build for lower levels only
// cannot use the directory. Installers of packages read the level here before they replace a newer build.
type levelRecord struct {
	Level level.Level `json:"level"`
}

// ReadLevel returns the highest known feature level of a directory's data, 0 if no host has noted a level. ReadLevel
// takes no lock, so a host may run on the directory meanwhile.
func ReadLevel(dir string) (level.Level, error) {
	var r levelRecord
	if err := readRecord(dir, LevelName, &r); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%s: %s: %w", dir, LevelName, err)
	}
	return r.Level, nil
}

// NoteLevel notes that the data of the directory is of a feature level. Levels up to the recorded level write
// nothing. An unreadable record is replaced: the log has the level too.
func (d *Directory) NoteLevel(l level.Level) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l <= d.level {
		return nil
	}
	if noted, err := ReadLevel(d.path); err != nil || noted < l {
		if err := writeRecord(d.path, LevelName, &levelRecord{l}); err != nil {
			return fmt.Errorf("note the feature level of %s: %w", d.path, err)
		}
	}
	d.level = l
	return nil
}
