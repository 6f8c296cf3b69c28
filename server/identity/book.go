package identity

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/signalbox/signalbox/shard/hosts"
)

// BookName is the name of the record of where the other hosts are.
const BookName = "hosts.json"

// Known is what a host knows of another one before it has read the log: it must find a majority to read what is new.
type Known struct {
	Founder
	// Start is the latest that is on record.
	Start hosts.Start `json:"start"`
	// Expelled: it is not to be let in any more.
	Expelled bool `json:"expelled,omitempty"`
}

// ReadBook returns what was written down of the hosts of the cluster last: those that it began with where nothing was.
func (d *Directory) ReadBook() (book []Known, err error) {
	err = readRecord(d.path, BookName, &book)
	switch {
	case err == nil:
		return book, nil
	case errors.Is(err, fs.ErrNotExist):
		id := d.Identity()
		for _, f := range id.First() {
			book = append(book, Known{Founder: f})
		}
		return book, nil
	case errors.Is(err, ErrDamaged):
		err = fmt.Errorf("%w; put the file back from a backup. Without one, take it away: the host then looks for the "+
			"hosts that the cluster began with, and learns of the others from them", err)
	}
	return nil, fmt.Errorf("identity: %s: %w", filepath.Join(d.path, BookName), err)
}

// WriteBook writes down the hosts of the cluster.
func (d *Directory) WriteBook(book []Known) error {
	if err := writeRecord(d.path, BookName, book); err != nil {
		return fmt.Errorf("identity: write down the other hosts: %w", err)
	}
	return nil
}
