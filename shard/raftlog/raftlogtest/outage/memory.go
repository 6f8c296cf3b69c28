package outage

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"github.com/lni/vfs"
)

// Memory is an in-memory file system that behaves like a disk: it knows for each change whether a power failure would
// preserve it.
type Memory struct {
	// Before, if set, is called before each change of a file or a name, and during each sync, before the first change
	// becomes durable. An error prevents the change. No lock is held.
	Before func(Step) error

	mu       sync.Mutex
	disk     *Disk
	live     *tree
	contents map[int]*content // file contents, with all pending changes
	syncs    int
}

// ErrSkipped is returned by Memory.Before for a sync to be reported and not done.
var ErrSkipped = errors.New("outage: the sync is skipped")

// Step is a file system's next change or sync.
type Step struct {
	Kind StepKind
	Name string // of the file, or of the directory with synced names
}

// StepKind is the kind of a step.
type StepKind int

// Step kinds.
const (
	Write StepKind = iota
	Sync
	Create // a file or directory is made
	Name   // a name is removed or changed
)

// NewMemory returns a file system with one directory.
func NewMemory(directory string) *Memory { return memoryOf(NewDisk(directory)) }

// memoryOf continues with a disk, which must not be used otherwise.
func memoryOf(d *Disk) *Memory {
	m := &Memory{disk: d, live: treeOf(d), contents: make(map[int]*content)}
	for i, n := range d.nodes {
		if n.directory {
			continue
		}
		c := &content{slices.Clone(n.content)}
		for _, w := range n.writes {
			c.bytes = w.apply(c.bytes)
		}
		m.contents[i] = c
	}
	return m
}

// AfterPowerFailure returns a possible file system after a power failure now.
func (m *Memory) AfterPowerFailure(draw Draw) *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	return memoryOf(m.disk.Image(draw).Clone())
}

// AfterKill returns the next process's file system after a kill of this process now: all changes, synced or not.
func (m *Memory) AfterKill() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.disk.Clone()
	for _, n := range c.nodes {
		n.syncs = nil // the syncs under way have not ended
	}
	return memoryOf(c)
}

// Names lists all files.
func (m *Memory) Names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []string
	m.walk("/", 0, func(name string) { all = append(all, name) })
	return all
}

func (m *Memory) walk(name string, n int, visit func(string)) {
	if !m.disk.nodes[n].directory {
		visit(name)
	}
	for _, base := range slices.Sorted(slices.Values(m.live.list(n))) {
		m.walk(path.Join(name, base), m.live.children[n][base], visit)
	}
}

func (m *Memory) before(kind StepKind, name string) error {
	if m.Before == nil {
		return nil
	}
	return m.Before(Step{kind, name})
}

// change adds a change to the pending changes. The lock is held.
func (m *Memory) change(e event) { e.play(m.disk) }

// rename changes a name of a directory. The lock is held.
func (m *Memory) rename(directory int, r rename) {
	m.change(named{directory, r})
	if r.from != "" {
		m.live.remove(directory, r.from)
	}
	if r.to != "" {
		m.live.put(directory, r.to, r.node)
	}
}

// add adds a file or directory with a name. The lock is held.
func (m *Memory) add(name string, directory bool) (int, error) {
	above, base, err := m.above(name)
	if err != nil {
		return 0, err
	}
	m.change(made{&node{directory: directory}})
	n := m.live.next()
	m.rename(above, rename{to: base, node: n})
	return n, nil
}

func (m *Memory) above(name string) (directory int, base string, err error) {
	name = filepath.Clean(name)
	above, ok := m.live.find(filepath.Dir(name))
	if !ok || !m.disk.nodes[above].directory {
		return 0, "", notThere(name)
	}
	return above, filepath.Base(name), nil
}

func notThere(name string) error { return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist} }

// open opens an existing file or directory.
func (m *Memory) open(name string) (*memoryFile, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, ok := m.live.find(name)
	if !ok {
		return nil, notThere(name)
	}
	return m.file(name, n), nil
}

// file is an open file or directory. The lock is held.
func (m *Memory) file(name string, n int) *memoryFile {
	if m.contents[n] == nil {
		m.contents[n] = new(content)
	}
	return &memoryFile{m: m, name: name, node: n, content: m.contents[n]}
}

// OpenData opens a file for writing, which need not exist.
func (m *Memory) OpenData(name string) (DataFile, error) {
	if f, err := m.open(name); err == nil {
		return f, nil
	}
	if err := m.before(Create, name); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.add(name, false)
	if err != nil {
		return nil, err
	}
	return m.file(name, n), nil
}

// Create implements vfs.FS.
func (m *Memory) Create(name string) (vfs.File, error) {
	f, err := m.OpenData(name)
	if err != nil {
		return nil, err
	}
	return f, f.(*memoryFile).write(write{cut: true})
}

// Open implements vfs.FS.
func (m *Memory) Open(name string, _ ...vfs.OpenOption) (vfs.File, error) {
	f, err := m.open(name)
	if err != nil {
		return nil, err // no file, instead of a nil file in an interface
	}
	return f, nil
}

// OpenDir implements vfs.FS.
func (m *Memory) OpenDir(name string) (vfs.File, error) { return m.Open(name) }

// OpenForAppend implements vfs.FS.
func (m *Memory) OpenForAppend(name string) (vfs.File, error) {
	f, err := m.open(name)
	if err != nil {
		return nil, err
	}
	_, err = f.Seek(0, io.SeekEnd)
	return f, err
}

// ReuseForWrite implements vfs.FS.
func (m *Memory) ReuseForWrite(oldName, newName string) (vfs.File, error) {
	if err := m.Rename(oldName, newName); err != nil {
		return nil, err
	}
	return m.OpenData(newName)
}

// Rename implements vfs.FS, within a directory.
func (m *Memory) Rename(oldName, newName string) error {
	if err := m.before(Name, newName); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, ok := m.live.find(oldName)
	from, old, err := m.above(oldName)
	if !ok || err != nil {
		return notThere(oldName)
	}
	to, base, err := m.above(newName)
	if err == nil && from != to {
		err = errors.New("outage: a rename from one directory to another is not known here")
	}
	if err == nil && old != base {
		m.rename(from, rename{from: old, to: base, node: n})
	}
	return err
}

// Link implements vfs.FS.
func (m *Memory) Link(oldName, newName string) error {
	if err := m.before(Name, newName); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, ok := m.live.find(oldName)
	above, base, err := m.above(newName)
	if !ok || err != nil {
		return notThere(oldName)
	}
	m.rename(above, rename{to: base, node: n})
	return nil
}

// Remove implements vfs.FS.
func (m *Memory) Remove(name string) error {
	if err := m.before(Name, name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, ok := m.live.find(name)
	if !ok {
		return notThere(name)
	}
	if len(m.live.list(n)) > 0 {
		return &fs.PathError{Op: "remove", Path: name, Err: errors.New("the directory is not empty")}
	}
	above, base, err := m.above(name)
	if err == nil {
		m.rename(above, rename{from: base})
	}
	return err
}

// RemoveAll implements vfs.FS. It removes files one by one.
func (m *Memory) RemoveAll(name string) error {
	below, err := m.List(name)
	if err != nil {
		return nil // the name does not exist
	}
	for _, base := range below {
		if err := m.RemoveAll(filepath.Join(name, base)); err != nil {
			return err
		}
	}
	return m.Remove(name)
}

// MkdirAll implements vfs.FS.
func (m *Memory) MkdirAll(name string, perm os.FileMode) error {
	if _, err := m.open(name); err == nil {
		return nil
	}
	if err := m.MkdirAll(filepath.Dir(filepath.Clean(name)), perm); err != nil {
		return err
	}
	if err := m.before(Create, name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.live.find(name); ok {
		return nil
	}
	_, err := m.add(name, true)
	return err
}

// Lock implements vfs.FS.
func (m *Memory) Lock(name string) (io.Closer, error) { return m.OpenData(name) }

// List implements vfs.FS.
func (m *Memory) List(name string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, ok := m.live.find(name)
	if !ok {
		return nil, notThere(name)
	}
	return slices.Sorted(slices.Values(m.live.list(n))), nil
}

// Stat implements vfs.FS.
func (m *Memory) Stat(name string) (os.FileInfo, error) {
	f, err := m.open(name)
	if err != nil {
		return nil, err
	}
	return f.Stat()
}

// PathBase implements vfs.FS.
func (*Memory) PathBase(p string) string { return path.Base(p) }

// PathJoin implements vfs.FS.
func (*Memory) PathJoin(elem ...string) string { return path.Join(elem...) }

// PathDir implements vfs.FS.
func (*Memory) PathDir(p string) string { return path.Dir(p) }

// GetDiskUsage implements vfs.FS.
func (*Memory) GetDiskUsage(string) (vfs.DiskUsage, error) {
	const size = 1 << 40
	return vfs.DiskUsage{AvailBytes: size, TotalBytes: size}, nil
}

// sweep forgets the files and directories without a durable name. An open file can still be read. The lock is held.
func (m *Memory) sweep() {
	found := make([]bool, len(m.disk.nodes))
	m.find(0, found)
	for i, n := range m.disk.nodes {
		if !found[i] {
			n.content, n.writes, n.renames = nil, nil, nil
			clear(n.names)
			delete(m.contents, i)
		}
	}
}

// find marks the nodes reachable by name from a node.
func (m *Memory) find(i int, found []bool) {
	if found[i] {
		return
	}
	found[i] = true
	for _, child := range m.disk.nodes[i].names {
		m.find(child, found)
	}
	for _, r := range m.disk.nodes[i].renames {
		m.find(r.node, found)
	}
}
