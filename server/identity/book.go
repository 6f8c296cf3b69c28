package identity

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/signalbox/signalbox/shard/hosts"
)

// BookName is the name of the record of the other hosts' addresses.
const BookName = "hosts.json"

// Known is a host's knowledge of another host before reading the log: the host must find a majority to read newer
// entries.
type Known struct {
	InitialMember
	// Start is the latest recorded start.
	Start hosts.Start `json:"start"`
	// Expelled: the host is not to be let in.
	Expelled bool `json:"expelled,omitempty"`
}

// ReadBook returns the hosts of the cluster as last written down; the first hosts if nothing was written yet.
func (d *Directory) ReadBook() (book []Known, err error) {
	there, err := d.recall(BookName, &book, "the host then looks for the hosts that the cluster began with, and "+
		"learns of the others from them")
	if err != nil || there {
		return book, err
	}
	id := d.Identity()
	for _, f := range id.First() {
		book = append(book, Known{InitialMember: f})
	}
	return book, nil
}

// recall reads a record that a host can do without, and reports whether the record is there. without says what happens
// to a host without the record.
func (d *Directory) recall(name string, into any, without string) (there bool, err error) {
	err = readRecord(d.path, name, into)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.Is(err, ErrDamaged):
		err = fmt.Errorf("%w; put the file back from a backup. Without one, take it away: %s", err, without)
	}
	return false, fmt.Errorf("%s: %w", filepath.Join(d.path, name), err)
}

// WriteBook writes down the hosts of the cluster.
func (d *Directory) WriteBook(book []Known) error {
	if err := writeRecord(d.path, BookName, book); err != nil {
		return fmt.Errorf("write down the other hosts: %w", err)
	}
	return nil
}
