package identity

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/signalbox/signalbox/shard/hosts"
)

// BookName is the file name of the record with remote hosts' addresses.
const BookName = "hosts.json"

// Known is what a host knows about a remote host before it reads the log: the host must find a quorum to read newer
// entries.
type Known struct {
	InitialMember
	// Start is the latest recorded start.
	Start hosts.Start `json:"start"`
	// Expelled reports that the host must not be admitted.
	Expelled bool `json:"expelled,omitempty"`
}

// ReadBook returns the cluster's hosts as last saved, or the initial hosts if nothing was saved yet.
func (d *Directory) ReadBook() (book []Known, err error) {
	there, err := d.recall(BookName, &book, "the host then contacts the initial hosts, and learns about the "+
		"other hosts from them")
	if err != nil || there {
		return book, err
	}
	id := d.Identity()
	for _, f := range id.First() {
		book = append(book, Known{InitialMember: f})
	}
	return book, nil
}

// recall reads an optional record, and reports whether the record exists. without describes the consequence if the
// record is missing.
func (d *Directory) recall(name string, into any, without string) (there bool, err error) {
	err = readRecord(d.path, name, into)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.Is(err, ErrDamaged):
		err = fmt.Errorf("%w; restore the file from a backup, or delete it: %s", err, without)
	}
	return false, fmt.Errorf("%s: %w", filepath.Join(d.path, name), err)
}

// WriteBook saves the cluster's hosts.
func (d *Directory) WriteBook(book []Known) error {
	if err := writeRecord(d.path, BookName, book); err != nil {
		return fmt.Errorf("cannot write the host list: %w", err)
	}
	return nil
}
