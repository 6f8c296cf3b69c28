package outage

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/lni/vfs"
)

// DataFile is a file whose data can be synced alone.
type DataFile interface {
	vfs.File
	SyncData() error
}

// Recorder is a file system that records changes, and forwards them to another file system.
type Recorder struct {
	vfs.FS
	// Forget, if set, makes the recorder omit a file's sync, a bug that tests must detect.
	Forget func(name string) bool

	open   func(name string) (DataFile, error)
	mu     sync.Mutex
	start  *Disk
	events []event
	live   *tree
	syncs  int
}

// NewRecorder returns a recorder of a file system's changes. open opens files for writing, which need not exist. The
// initial files are those of a disk, with all pending changes.
func NewRecorder(fs vfs.FS, open func(name string) (DataFile, error), start *Disk) *Recorder {
	r := &Recorder{FS: fs, open: open, start: start.Clone()}
	r.live = treeOf(r.start)
	return r
}

// Note adds a user note to the record of changes.
func (r *Recorder) Note(value any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(note{value})
}

// Recording returns the record so far.
func (r *Recorder) Recording() *Recording {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &Recording{start: r.start, events: r.events[:len(r.events):len(r.events)]}
}

func (r *Recorder) note(e event) { r.events = append(r.events, e) }

// existing returns the node with a name. Where the recorder does not know the name, existing adds a node. The lock is
// held.
func (r *Recorder) existing(name string, directory bool) int {
	if n, ok := r.live.find(name); ok {
		return n
	}
	return r.addNode(name, directory)
}

// addNode adds a new file or directory with a name.
func (r *Recorder) addNode(name string, directory bool) int {
	r.note(made{&node{directory: directory}})
	n := r.live.next()
	r.name(name, n)
	return n
}

// name gives a node a name, in addition to its other names.
func (r *Recorder) name(name string, n int) {
	dir, base := r.parent(name)
	r.note(named{dir, rename{to: base, node: n}})
	r.live.put(dir, base, n)
}

func (r *Recorder) parent(name string) (dir int, base string) {
	name = filepath.Clean(name)
	above := filepath.Dir(name)
	if above == name || above == "." {
		return 0, filepath.Base(name)
	}
	return r.existing(above, true), filepath.Base(name)
}

// Create implements vfs.FS.
func (r *Recorder) Create(name string) (vfs.File, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	file, err := r.FS.Create(name)
	if err != nil {
		return nil, err
	}
	n, there := r.live.find(name)
	if there {
		r.note(wrote{n, write{cut: true}})
	} else {
		n = r.addNode(name, false)
	}
	return &recorded{File: file, r: r, name: name, node: n}, nil
}

// OpenData opens a file for writing and records its changes.
func (r *Recorder) OpenData(name string) (DataFile, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	file, err := r.open(name)
	if err != nil {
		return nil, err
	}
	return &recorded{File: file, data: file, r: r, name: name, node: r.existing(name, false)}, nil
}

// OpenForAppend implements vfs.FS.
func (r *Recorder) OpenForAppend(name string) (vfs.File, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	info, err := r.FS.Stat(name)
	if err != nil {
		return nil, err
	}
	file, err := r.FS.OpenForAppend(name)
	if err != nil {
		return nil, err
	}
	return &recorded{File: file, r: r, name: name, node: r.existing(name, false), at: info.Size()}, nil
}

// OpenDir implements vfs.FS.
func (r *Recorder) OpenDir(name string) (vfs.File, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	file, err := r.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &recorded{File: file, r: r, name: name, node: r.existing(name, true)}, nil
}

// ReuseForWrite implements vfs.FS.
func (r *Recorder) ReuseForWrite(oldName, newName string) (vfs.File, error) {
	if err := r.Rename(oldName, newName); err != nil {
		return nil, err
	}
	return r.OpenData(newName)
}

// Rename implements vfs.FS, within a directory.
func (r *Recorder) Rename(oldName, newName string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.FS.Rename(oldName, newName); err != nil {
		return err
	}
	n := r.existing(oldName, false)
	from, old := r.parent(oldName)
	to, base := r.parent(newName)
	if from != to {
		panic("outage: a rename from one directory to another is not known here")
	}
	r.note(named{from, rename{from: old, to: base, node: n}})
	r.live.remove(from, old)
	r.live.put(from, base, n)
	return nil
}

// Link implements vfs.FS.
func (r *Recorder) Link(oldName, newName string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.FS.Link(oldName, newName); err != nil {
		return err
	}
	r.name(newName, r.existing(oldName, false))
	return nil
}

// Remove implements vfs.FS.
func (r *Recorder) Remove(name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.FS.Remove(name); err != nil {
		return err
	}
	r.removeName(name)
	return nil
}

func (r *Recorder) removeName(name string) {
	dir, base := r.parent(name)
	r.note(named{dir, rename{from: base}})
	r.live.remove(dir, base)
}

// RemoveAll implements vfs.FS. It records the removal of each file below.
func (r *Recorder) RemoveAll(name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.FS.RemoveAll(name); err != nil {
		return err
	}
	if n, ok := r.live.find(name); ok {
		r.removeBelow(name, n)
		r.removeName(name)
	}
	return nil
}

func (r *Recorder) removeBelow(name string, n int) {
	for _, base := range r.live.list(n) {
		path := filepath.Join(name, base)
		below, _ := r.live.find(path)
		r.removeBelow(path, below)
		r.removeName(path)
	}
}

// MkdirAll implements vfs.FS.
func (r *Recorder) MkdirAll(name string, perm os.FileMode) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.FS.MkdirAll(name, perm); err != nil {
		return err
	}
	r.existing(name, true)
	return nil
}

// Lock implements vfs.FS.
func (r *Recorder) Lock(name string) (io.Closer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	lock, err := r.FS.Lock(name)
	if err == nil {
		r.existing(name, false)
	}
	return lock, err
}

// tree is the current names of the nodes.
type tree struct {
	children map[int]map[string]int
	count    int
}

func treeOf(d *Disk) *tree {
	t := &tree{children: make(map[int]map[string]int), count: len(d.nodes)}
	for i, n := range d.nodes {
		names := n.latest()
		if names != nil {
			t.children[i] = names
		}
	}
	return t
}

func (t *tree) next() int {
	t.count++
	return t.count - 1
}

func (t *tree) find(name string) (n int, ok bool) {
	name = filepath.Clean(name)
	if name == "." || name == "/" {
		return 0, true
	}
	for base := range strings.SplitSeq(strings.Trim(name, "/"), "/") {
		if n, ok = t.children[n][base]; !ok {
			return 0, false
		}
	}
	return n, true
}

func (t *tree) put(dir int, base string, n int) {
	if t.children[dir] == nil {
		t.children[dir] = make(map[string]int)
	}
	t.children[dir][base] = n
}

func (t *tree) remove(dir int, base string) { delete(t.children[dir], base) }

func (t *tree) list(dir int) (names []string) {
	for name := range t.children[dir] {
		names = append(names, name)
	}
	return names
}
