package simulation

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server/backup"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/workload"
)

// What there is besides the semaphores of programs: nodes that are made while a backup is saved.

// furnishEvery is how often such a node is made.
const furnishEvery = 100 * time.Millisecond

// furnish makes nodes with a semaphore each, until the context ends.
func (w *world) furnish(ctx context.Context, c *client.Client) {
	for n := 1; workload.Sleep(ctx, furnishEvery); n++ {
		name := fmt.Sprintf("/made/%d", n)
		if _, err := c.CreateNode(ctx, name, client.NodeConfig{}); err != nil {
			continue
		}
		if err := c.Node(name).Create(ctx, name, 1, []byte(name)); err == nil {
			w.mu.Lock()
			w.made[name] = w.record.Now()
			w.mu.Unlock()
		}
	}
}

// checkBackup notes objects whose node the meta shard of a backup has never heard of: it was saved before they were.
func (w *world) checkBackup(s *backup.States) {
	last := s.Meta.State().LastNode
	for _, id := range s.Shards() {
		for _, o := range s.Data[id].State().Semaphores {
			if o.Node > shard.NodeID(last) {
				w.record.Note("the backup has %q of node %d, and its meta shard has given %d nodes", o.Name, o.Node,
					last)
				return
			}
		}
	}
}

// checkMade notes what was made before the backup and is not there in the end.
func (w *world) checkMade(ctx context.Context, c *client.Client) {
	w.mu.Lock()
	made, from := maps.Clone(w.made), w.savedFrom
	w.mu.Unlock()
	for name, at := range made {
		if at >= from {
			continue
		}
		d, err := c.Node(name).Describe(ctx, name, client.WithConsistency(client.Strict))
		if err != nil || string(d.Data) != name {
			w.record.Note("%s was there at %v, before the backup, and is not in the end: %v", name, at, err)
		}
	}
}
