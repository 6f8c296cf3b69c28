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

// ErrCopied: the directory is not where its host left it, so it may lack what the host has confirmed since.
var ErrCopied = errors.New("the data directory is a copy")

// anchor says which file it is itself, so that a copy of the record is another file than the one that it names. It is
// replaced again and again while the log grows: a copy that is written into the files of the original names a file that
// was there before. It says where the log ends too, which the log itself cannot where its end is gone.
type anchor struct {
	File fileID `json:"file"`
	// LogEnd is up to where the log was durable.
	LogEnd hosts.LogEnd `json:"log_end"`
	// Stopped: the log was closed, and nothing came after LogEnd.
	Stopped bool `json:"stopped"`
}

// fileID is what stays of a file as long as it is that file, and of which no two files of a file system have the same
// at one time. A zero one says nothing: the file system has nothing that lasts.
type fileID struct {
	FileSystem string `json:"file_system"`
	Inode      uint64 `json:"inode"`
	// Born is when the file was made, in nanoseconds; 0 where the file system does not keep it. An inode is used again
	// for another file, which was made later.
	Born int64 `json:"born,omitempty"`
}

// known reports whether the file system keeps what the id says for as long as the file is there.
func (f fileID) known() bool { return f.FileSystem != "" }

// other reports whether two ids are of two files. Where one of them says nothing that is not known.
func (f fileID) other(g fileID) bool {
	return f.known() && g.known() && (f.Inode != g.Inode || f.Born != 0 && g.Born != 0 && f.Born != g.Born)
}

// String shows an id to people.
func (f fileID) String() string {
	if f.Born == 0 {
		return fmt.Sprintf("inode %d on %s", f.Inode, f.FileSystem)
	}
	return fmt.Sprintf("inode %d on %s, made %s", f.Inode, f.FileSystem,
		time.Unix(0, f.Born).UTC().Format("2006-01-02T15:04:05.000000000Z"))
}

// readAnchor reads the record, and returns which file it is in.
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

// checkAnchor refuses a directory that is known to be a copy. A damaged record says nothing, and so does one that is
// not there: a host must not be kept from starting by the record that is written most often.
func (d *Directory) checkAnchor(id *Identity) (a anchor, doubt, err error) {
	a, is, err := readAnchor(d.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return anchor{}, nil, nil
	case errors.Is(err, ErrDamaged):
		return anchor{}, fmt.Errorf("%s: %w", AnchorName, err), nil
	case err != nil:
		return anchor{}, nil, fmt.Errorf("identity: %s: %w", filepath.Join(d.path, AnchorName), err)
	case a.File.other(is):
		return anchor{}, nil, d.copied(id, &a, is)
	}
	return a, nil, nil
}

// copied says what to type where a directory is a copy.
func (d *Directory) copied(id *Identity, a *anchor, is fileID) error {
	what := "Start the host on the directory that it ran on last, or empty this one and join as a new host: " +
		"signalbox serve --join HOST:PORT --name " + id.HostName + " --replace " + id.HostName
	if len(id.Founders) == 1 && !id.Joined() {
		what = "Start the host on the directory that it ran on last, or restore a backup: " +
			"signalbox backup restore FILE"
	}
	return fmt.Errorf("identity: %s: %w: its %s was written as %v, and is %v. What the host confirmed after the copy "+
		"was taken is not in it. %s. If this is all that there is of the directory, moved here after its host had "+
		"stopped, and the one that it was taken from is never used again, say so: signalbox host moved %s",
		d.path, ErrCopied, AnchorName, a.File, is, what, d.path)
}

// LogEnd is up to where the log was durable when that was last noted.
func (d *Directory) LogEnd() hosts.LogEnd {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.anchor.LogEnd
}

// errNothingLasts is the doubt where no copy is known for one.
var errNothingLasts = errors.New("its file system gives files nothing that lasts")

// Doubt returns why it was not known at the start whether the directory is a copy, or will not be at the next one; nil
// where it was and will be.
func (d *Directory) Doubt() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.doubt == nil && !d.anchor.File.known() {
		return errNothingLasts
	}
	return d.doubt
}

// Anchor ties the directory to its place anew, and notes up to where the log is durable, and whether it was closed.
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
		return fmt.Errorf("identity: tie %s to its place: %w", d.path, err)
	}
	d.anchor = a
	return nil
}

// ErrRunning is returned by Moved for a directory whose host was not stopped before it was copied.
var ErrRunning = errors.New("its host was not stopped")

// Moved takes a copy for the directory that its host ran on last, because the caller says so. One of which the record
// says that the host ran may have been copied meanwhile: it is taken only where the host had been killed. It reports
// whether the directory was a copy at all.
func (d *Directory) Moved(killed bool) (was bool, err error) {
	if _, err := Read(d.path); err != nil {
		return false, err
	}
	a, is, err := readAnchor(d.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("identity: %s: %w", filepath.Join(d.path, AnchorName), err)
	case !a.File.other(is):
		return false, nil
	case !a.Stopped && !killed:
		return true, fmt.Errorf("identity: %s: %w when this copy was taken", d.path, ErrRunning)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return true, d.writeAnchor(a.LogEnd, a.Stopped)
}
