//go:build unix

package datadir

import (
	"cmp"
	"io"
	"path/filepath"
	"slices"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/kinds"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/meta"
)

// metaShard is the id of the shard with the nodes and hosts.
const metaShard = 0

// Content is the content of a directory's snapshots.
type Content struct {
	// Nodes are the meta shard's nodes, and nodes that only data shards know, by path and id.
	Nodes []Node
}

// Node is a node with its counts in the data shards.
type Node struct {
	ID   shard.NodeID
	Path string // empty if the meta shard does not know the node

	Sessions, Semaphores, Owners, Waiters int
}

// Watch is called with the number of snapshot bytes read so far.
type Watch func(s Snapshot, read int64)

// Read reads a snapshot, and adds its content.
func (d *Directory) Read(s Snapshot, c *Content, watch Watch) error {
	if s.Shard == metaShard {
		return d.readMeta(s, c, watch)
	}
	return d.readData(s, c, watch)
}

// readMeta adds the node paths in a meta shard snapshot.
func (d *Directory) readMeta(s Snapshot, c *Content, watch Watch) error {
	m := meta.New()
	if err := d.restore(s, m.Restore, watch); err != nil {
		return err
	}
	for after, more := "", true; more; {
		var page []meta.Node
		page, more = m.Nodes("", after, shard.MaxPage)
		for i := range page {
			after = page[i].Path
			c.node(page[i].ID).Path = page[i].Path
		}
	}
	return nil
}

// readData adds the sessions and semaphores in a data shard snapshot, counted by node.
func (d *Directory) readData(s Snapshot, c *Content, watch Watch) error {
	m := machine.New(kinds.All(), machine.Options{History: 1})
	if err := d.restore(s, m.Restore, watch); err != nil {
		return err
	}
	state := m.State()
	for _, n := range state.Nodes {
		c.node(n.ID)
	}
	for i := range state.Sessions {
		if state.Sessions[i].Home {
			c.node(state.Sessions[i].Node).Sessions++
		}
	}
	for i := range state.Semaphores {
		n := c.node(state.Semaphores[i].Node)
		n.Semaphores++
		for _, l := range state.Semaphores[i].Links {
			if l.Owner {
				n.Owners++
			} else {
				n.Waiters++
			}
		}
	}
	return nil
}

// restore passes a snapshot's machine state to a restore function, and reports progress to watch.
func (d *Directory) restore(s Snapshot, into func(io.Reader) error, watch Watch) error {
	r, err := openSnapshot(filepath.Join(d.Path, s.Path))
	if err != nil {
		return err
	}
	defer r.Close()
	return into(&countingReader{r: r, report: func(n int64) { watch(s, n) }})
}

// countingReader reports how much has been read.
type countingReader struct {
	r      io.Reader
	read   int64
	report func(int64)
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.read += int64(n)
	c.report(c.read)
	return n, err
}

// node returns the node with an id. The pointer is valid until the next call.
func (c *Content) node(id shard.NodeID) *Node {
	at, found := slices.BinarySearchFunc(c.Nodes, id,
		func(n Node, id shard.NodeID) int { return cmp.Compare(n.ID, id) })
	if !found {
		c.Nodes = slices.Insert(c.Nodes, at, Node{ID: id})
	}
	return &c.Nodes[at]
}
