// Package keptlog has logs and snapshots that stay what they are: those that the build which last wrote a level as its
// newest made at that level. Start with Check.
package keptlog

import (
	"compress/gzip"
	"encoding/gob"
	"errors"
	"os"
	"path/filepath"

	"github.com/signalbox/signalbox/protocol/level"
)

// Log is what a machine applied, and what it was on the way.
type Log struct {
	Level level.Level
	// Batches are as the log has them.
	Batches [][]byte
	// Snapshots are of the machine after so many batches. The one before the first batch and the one after the last are
	// among them.
	Snapshots map[int]Snapshot
}

// Snapshot is a machine at one moment.
type Snapshot struct {
	File   []byte
	Digest uint64
}

// Machine is a state machine that logs are of.
type Machine interface {
	Level() level.Level
	Restore(snapshot []byte) error
	Save() ([]byte, error)
	Digest() uint64
	// Apply decodes a batch and applies it. It returns the batch as it is written again, nil where the batch has a
	// command above the level, of which nothing is read.
	Apply(batch []byte) (again []byte, err error)
}

// Writer makes a log while a machine runs.
type Writer struct{ log Log }

// Batch notes a batch before it is applied.
func (w *Writer) Batch(data []byte) {
	w.log.Batches = append(w.log.Batches, append([]byte(nil), data...))
}

// Snapshot notes how a machine is now. It is saved, restored and saved again, which leaves no trace of what the machine
// had before.
func (w *Writer) Snapshot(now, empty Machine) error {
	file, err := now.Save()
	if err != nil {
		return err
	}
	if err := empty.Restore(file); err != nil {
		return err
	}
	if file, err = empty.Save(); err != nil {
		return err
	}
	if w.log.Snapshots == nil {
		w.log.Snapshots = map[int]Snapshot{}
	}
	w.log.Level = now.Level()
	w.log.Snapshots[len(w.log.Batches)] = Snapshot{file, now.Digest()}
	return nil
}

// Keep writes the log into a file that is not there yet.
func (w *Writer) Keep(name string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	packed, _ := gzip.NewWriterLevel(file, gzip.BestCompression)
	return errors.Join(gob.NewEncoder(packed).Encode(&w.log), packed.Close(), file.Close())
}

// read returns the log of a file.
func read(name string) (*Log, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	packed, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	log := &Log{}
	return log, gob.NewDecoder(packed).Decode(log)
}
