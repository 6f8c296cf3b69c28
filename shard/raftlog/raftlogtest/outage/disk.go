package outage

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Disk is the state of a recorder's files at one time.
type Disk struct {
	nodes []*node // by number; 0 is the root
}

// node is a file or a directory.
type node struct {
	directory bool

	content []byte  // file: durable bytes
	writes  []write // file: pending changes

	names   map[string]int // directory: durable names, and pending changes
	renames []rename

	durable int         // how many changes are durable
	syncs   map[int]int // number of changes covered by each running sync
}

// write is a file change: bytes at a position or, without bytes, a new length.
type write struct {
	at   int64
	data []byte
	cut  bool
}

// rename is a directory change: a name is removed, added, or both at once.
type rename struct {
	from, to string
	node     int // the new name's node
}

// NewDisk returns a disk with one directory and its parents, all durable.
func NewDisk(directory string) *Disk {
	d := &Disk{nodes: []*node{newDirectory()}}
	above := 0
	for base := range strings.SplitSeq(strings.Trim(filepath.Clean(directory), "/"), "/") {
		n := d.add(newDirectory())
		d.nodes[above].names[base] = n
		above = n
	}
	return d
}

func newDirectory() *node { return &node{directory: true, names: make(map[string]int)} }

func (d *Disk) add(n *node) int {
	d.nodes = append(d.nodes, n)
	return len(d.nodes) - 1
}

// Clone returns a copy of the disk without shared mutable state.
func (d *Disk) Clone() *Disk {
	c := &Disk{nodes: make([]*node, len(d.nodes))}
	for i, n := range d.nodes {
		m := *n
		m.content = slices.Clone(n.content)
		m.writes, m.renames = slices.Clone(n.writes), slices.Clone(n.renames)
		m.names, m.syncs = maps.Clone(n.names), maps.Clone(n.syncs)
		c.nodes[i] = &m
	}
	return c
}

// pending returns how many changes are not durable.
func (d *Disk) pending() (count int) {
	for _, n := range d.nodes {
		count += len(n.writes) + len(n.renames)
	}
	return count
}

func (n *node) beginSync(sync int) {
	if n.syncs == nil {
		n.syncs = make(map[int]int)
	}
	n.syncs[sync] = n.durable + len(n.writes) + len(n.renames)
}

func (n *node) endSync(sync int) {
	changes := max(0, n.syncs[sync]-n.durable)
	delete(n.syncs, sync)
	n.durable += changes
	if n.directory {
		for _, r := range n.renames[:changes] {
			r.apply(n.names)
		}
		n.renames = n.renames[changes:]
		return
	}
	for _, w := range n.writes[:changes] {
		n.content = w.apply(n.content)
	}
	n.writes = n.writes[changes:]
}

func (r rename) apply(names map[string]int) {
	delete(names, r.from)
	if r.to != "" {
		names[r.to] = r.node
	}
}

func (w write) apply(content []byte) []byte {
	if w.cut {
		return resize(content, int(w.at))
	}
	content = resize(content, max(len(content), int(w.at)+len(w.data)))
	copy(content[w.at:], w.data)
	return content
}

func resize(content []byte, size int) []byte {
	if size <= len(content) {
		return content[:size]
	}
	old := len(content)
	content = slices.Grow(content, size-old)[:size]
	clear(content[old:])
	return content
}
