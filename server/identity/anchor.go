package identity

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/signalbox/signalbox/shard/hosts"
)

// AnchorName is the name of the record that ties the directory to its place on a disk.
const AnchorName = "anchor.json"

// ErrCopied: the directory is not in the place of its host's last run, so the directory may lack later confirmations.
var ErrCopied = errors.New("the data directory is a copy")

// anchor names its own file by id, so a copy of the record is found out: the copy lies in a different file. The
// record is replaced again and again while the log grows; so even a copy written into the files of the original names
// an older file. The record says too where the log ends, because a log without its end cannot say so.
type anchor struct {
	File fileID `json:"file"`
	// LogEnd is the end of the durable log.
	LogEnd hosts.LogEnd `json:"log_end"`
	// Stopped: the log was closed, and nothing came after LogEnd.
	Stopped bool `json:"stopped"`
}

// fileID is fixed for as long as a file exists, and no two files of a file system have equal ids at one time. A zero
// fileID says nothing: the file system has no lasting ids.
type fileID struct {
	FileSystem string `json:"file_system"`
	Inode      uint64 `json:"inode"`
	// Created is when the file was made, in nanoseconds; 0 if the file system does not keep the time. A file
	// system uses inodes again for files made later.
	Created int64 `json:"created,omitempty"`
}

// known reports whether the file system keeps the id for as long as the file exists.
func (f fileID) known() bool { return f.FileSystem != "" }

// other reports whether two ids are of two files; false if either id says nothing.
func (f fileID) other(g fileID) bool {
	return f.known() && g.known() && (f.Inode != g.Inode || f.Created != 0 && g.Created != 0 &&
		f.Created != g.Created)
}

// String shows an id to people.
func (f fileID) String() string {
	if f.Created == 0 {
		return fmt.Sprintf("inode %d on %s", f.Inode, f.FileSystem)
	}
	return fmt.Sprintf("inode %d on %s, made %s", f.Inode, f.FileSystem,
		time.Unix(0, f.Created).UTC().Format("2006-01-02T15:04:05.000000000Z"))
}

// readAnchor reads the record, and returns the id of the record's file.
func readAnchor(dir string) (a anchor, is fileID, err error) {
	if err = readRecord(dir, AnchorName, &a); err != nil {
		return a, is, err
	}
	file, err := os.Open(filepath.Join(dir, AnchorName))
	if err != nil {
		return a, is, err
	}
	defer file.Close()
	is, err = identifyFile(file)
	return a, is, err
}

// checkAnchor refuses a known copy of a directory. A damaged record says nothing, and neither does a missing record:
// the most often written record must not keep a host from starting.
func (d *Directory) checkAnchor(id *Identity) (a anchor, doubt, err error) {
	a, is, err := readAnchor(d.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return anchor{}, nil, nil
	case errors.Is(err, ErrDamaged):
		return anchor{}, fmt.Errorf("%s: %w", AnchorName, err), nil
	case err != nil:
		return anchor{}, nil, fmt.Errorf("%s: %w", filepath.Join(d.path, AnchorName), err)
	case a.File.other(is):
		return anchor{}, nil, d.copied(id, &a, is)
	}
	return a, nil, nil
}

// copied says what to type if a directory is a copy.
func (d *Directory) copied(id *Identity, a *anchor, is fileID) error {
	what := "Start the host on the directory that it ran on last, or empty this one and join as a new host: " +
		"signalbox serve --join HOST:PORT --name " + id.HostName + " --replace " + id.HostName
	if len(id.InitialMembers) == 1 && !id.Joined() {
		what = "Start the host on the directory that it ran on last, or restore a backup: " +
			"signalbox backup restore FILE"
	}
	return fmt.Errorf("%s: %w: its %s was written as %v, and is %v. What the host confirmed after the copy "+
		"was taken is not in it. %s. If this is all that there is of the directory, moved here after its host had "+
		"stopped, and the one that it was taken from is never used again, say so: signalbox host adopt-data-dir %s",
		d.path, ErrCopied, AnchorName, a.File, is, what, d.path)
}

// LogEnd is the end of the durable log at the last note.
func (d *Directory) LogEnd() hosts.LogEnd {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.anchor.LogEnd
}

// errNothingLasts is the doubt on a file system on which no copy can be known.
var errNothingLasts = errors.New("its file system gives files nothing that lasts")

// Doubt returns why the last start could not know whether the directory is a copy, or why the next start will not
// know; nil without a doubt.
func (d *Directory) Doubt() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.doubt == nil && !d.anchor.File.known() {
		return errNothingLasts
	}
	return d.doubt
}

// Anchor ties the directory to its place anew, and notes how far the log is durable, and whether the log was closed.
func (d *Directory) Anchor(end hosts.LogEnd, stopped bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.writeAnchor(end, stopped)
}

// writeAnchor is Anchor. The lock is held.
func (d *Directory) writeAnchor(end hosts.LogEnd, stopped bool) error {
	a := anchor{LogEnd: end, Stopped: stopped}
	err := writeFresh(d.path, AnchorName, 0o640, func(file *os.File) (text []byte, err error) {
		if a.File, err = identifyFile(file); err != nil {
			return nil, err
		}
		return encode(&a)
	})
	if err != nil {
		return fmt.Errorf("tie %s to its place: %w", d.path, err)
	}
	d.anchor = a
	return nil
}

// ErrRunning is returned by Moved for a copy of a directory whose host had not been stopped.
var ErrRunning = errors.New("its host was not stopped")

// Moved accepts a copy as the directory of the host's last run, because the caller says so. If the record says that
// the host ran, the copy may be older than the host's last confirmation, so Moved accepts it only for a killed host.
// was reports whether the directory was a copy at all.
func (d *Directory) Moved(killed bool) (was bool, err error) {
	if _, err := Read(d.path); err != nil {
		return false, err
	}
	a, is, err := readAnchor(d.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("%s: %w", filepath.Join(d.path, AnchorName), err)
	case !a.File.other(is):
		return false, nil
	case !a.Stopped && !killed:
		return true, fmt.Errorf("%s: %w when this copy was taken", d.path, ErrRunning)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return true, d.writeAnchor(a.LogEnd, a.Stopped)
}
