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

// AnchorName is the file name of the record that ties the directory to its location on a disk.
const AnchorName = "anchor.json"

// ErrCopied: the directory is not at the location of its host's last run, so it may lack later confirmations.
var ErrCopied = errors.New("the data directory is a copy")

// anchor contains its own file's id, so a copied record is detected: the copy is in a different file. The record is
// replaced repeatedly while the log grows, so even a copy written into the original files contains an older file id.
// The record also stores where the log ends, because a truncated log cannot show its own end.
type anchor struct {
	File fileID `json:"file"`
	// LogEnd is the end of the durable log.
	LogEnd hosts.LogEnd `json:"log_end"`
	// Stopped reports whether the log was closed with nothing after LogEnd.
	Stopped bool `json:"stopped"`
}

// fileID identifies a file as long as the file exists, and is unique within a file system at any time. A zero fileID
// is unknown: the file system has no stable ids.
type fileID struct {
	FileSystem string `json:"file_system"`
	Inode      uint64 `json:"inode"`
	// Created is the file's creation time in nanoseconds, 0 if the file system does not record it. File systems reuse
	// inodes for later files.
	Created int64 `json:"created,omitempty"`
}

// known reports whether the file system keeps the id as long as the file exists.
func (f fileID) known() bool { return f.FileSystem != "" }

// other reports whether two ids belong to different files; false if either id is unknown.
func (f fileID) other(g fileID) bool {
	return f.known() && g.known() && (f.Inode != g.Inode || f.Created != 0 && g.Created != 0 &&
		f.Created != g.Created)
}

// String formats an id for messages.
func (f fileID) String() string {
	if f.Created == 0 {
		return fmt.Sprintf("inode %d on %s", f.Inode, f.FileSystem)
	}
	return fmt.Sprintf("inode %d on %s, made %s", f.Inode, f.FileSystem,
		time.Unix(0, f.Created).UTC().Format("2006-01-02T15:04:05.000000000Z"))
}

// readAnchor reads the record, and returns the id of its file.
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

// checkAnchor refuses a detected copy of a directory. A damaged or missing record proves nothing, because the most
// frequently written record must not prevent a host from starting.
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

// copied returns an error that says which command to run if a directory is a copy.
func (d *Directory) copied(id *Identity, a *anchor, is fileID) error {
	what := "Start the host on its latest directory, or empty the copy and join as a new host: signalbox serve " +
		"--join HOST:PORT --name " + id.HostName + " --replace " + id.HostName
	if len(id.InitialMembers) == 1 && !id.Joined() {
		what = "Start the host on its latest directory, or restore a backup: signalbox backup restore FILE"
	}
	return fmt.Errorf("%s: %w: its %s was written as %v, and is %v. The copy lacks entries that the host "+
		"confirmed later. %s. If the host was stopped before the directory was copied or moved, and the original "+
		"is never used again, run signalbox host adopt-data-dir %s",
		d.path, ErrCopied, AnchorName, a.File, is, what, d.path)
}

// LogEnd returns the last recorded end of the durable log.
func (d *Directory) LogEnd() hosts.LogEnd {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.anchor.LogEnd
}

// errNothingLasts is the doubt on a file system on which copies cannot be detected.
var errNothingLasts = errors.New("the file system has no permanent file ids")

// Doubt returns why the last start could not determine whether the directory is a copy, or why the next start will
// not; nil without a doubt.
func (d *Directory) Doubt() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.doubt == nil && !d.anchor.File.known() {
		return errNothingLasts
	}
	return d.doubt
}

// Anchor ties the directory to its current location, and records how far the log is durable and whether the log was
// closed.
func (d *Directory) Anchor(end hosts.LogEnd, stopped bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.writeAnchor(end, stopped)
}

// writeAnchor implements Anchor. The lock is held.
func (d *Directory) writeAnchor(end hosts.LogEnd, stopped bool) error {
	a := anchor{LogEnd: end, Stopped: stopped}
	err := writeFresh(d.path, AnchorName, 0o640, func(file *os.File) (text []byte, err error) {
		if a.File, err = identifyFile(file); err != nil {
			return nil, err
		}
		return encode(&a)
	})
	if err != nil {
		return fmt.Errorf("cannot record the file id of %s: %w", d.path, err)
	}
	d.anchor = a
	return nil
}

// ErrRunning is returned by Moved for a copied directory whose host had not been stopped.
var ErrRunning = errors.New("the host was not stopped")

// Moved accepts a copy as the directory from the host's last run, on the caller's responsibility. If the record shows
// a running host, the copy may be older than the host's last confirmation, so Moved accepts it only if killed is
// true. was reports whether the directory was a copy at all.
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
		return true, fmt.Errorf("%s: %w when the copy was taken", d.path, ErrRunning)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return true, d.writeAnchor(a.LogEnd, a.Stopped)
}
