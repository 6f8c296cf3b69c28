package simulation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/signalbox/signalbox/client"
	rounds "github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/client/rollout"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/server/backup"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/workload"
)

// Objects besides the programs' semaphores: nodes created during a backup, some with a rollout and a process.

const (
	// furnishEvery is the interval between new nodes; every objectsEvery-th node has more than a semaphore.
	furnishEvery = 100 * time.Millisecond
	objectsEvery = 10

	// Object names in a node.
	madeRollout = "versions"
	madeProcess = "rounds"
	minMembers  = 2
)

// madeNode is a completely created node.
type madeNode struct {
	at history.Time
	// seq is the version of its rollout, 0 for none.
	seq uint64
}

// furnish creates nodes with a semaphore each, until the context ends.
func (w *world) furnish(ctx context.Context, c *client.Client) {
	first := ""
	for n := 1; workload.Sleep(ctx, furnishEvery); n++ {
		name := fmt.Sprintf("/made/%d", n)
		if _, err := c.CreateNode(ctx, name, client.NodeConfig{}); err != nil {
			continue
		}
		if c.Node(name).Create(ctx, name, 1, []byte(name)) != nil {
			continue
		}
		made := madeNode{}
		if n%objectsEvery == 0 {
			seq, err := makeObjects(ctx, c, name)
			if err != nil {
				continue
			}
			made.seq = seq
			if first == "" {
				first = name
			}
			// A version published after the backup is lost; its number is not reused.
			if seq, err := rollout.New(c, first, madeRollout).Publish(ctx, []byte(name)); err == nil {
				w.mu.Lock()
				w.published[first] = max(w.published[first], seq)
				w.mu.Unlock()
			}
		}
		made.at = w.record.Now()
		w.mu.Lock()
		w.made[name] = made
		w.mu.Unlock()
	}
}

// makeObjects makes a rollout with a version and a process in a node.
func makeObjects(ctx context.Context, c *client.Client, node string) (seq uint64, err error) {
	r := rollout.New(c, node, madeRollout)
	spec := kind.Spec{Locations: []rollout.Location{{Name: "one"}, {Name: "two", Delay: time.Hour}}}
	if err := r.Create(ctx, spec, rollout.ChangeInfo{Reason: "made"}); err != nil {
		return 0, err
	}
	if seq, err = r.Publish(ctx, []byte(node)); err != nil {
		return 0, err
	}
	p := rounds.New(c, node, madeProcess)
	return seq, p.Create(ctx, rounds.Spec{MinMembers: minMembers}, rounds.ChangeInfo{Reason: "made"})
}

// checkBackup notes objects whose node is unknown to the backup's meta shard, which must be saved after all data
// shards.
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

// checkMade notes objects created before the backup and missing at the end, and reused version numbers.
func (w *world) checkMade(ctx context.Context, c *client.Client) {
	w.mu.Lock()
	made, published, from := maps.Clone(w.made), maps.Clone(w.published), w.savedFrom
	w.mu.Unlock()
	for name, x := range made {
		if x.at >= from {
			continue
		}
		d, err := c.Node(name).Describe(ctx, name, client.WithConsistency(client.Strict))
		if err == nil && string(d.Data) != name {
			err = fmt.Errorf("its data are %q", d.Data)
		}
		if err == nil && x.seq != 0 {
			err = checkObjects(ctx, c, name, max(x.seq, published[name]), x.seq)
		}
		if err != nil {
			w.record.Note("%s was there at %v, before the backup, and is not in the end: %v", name, x.at, err)
		}
	}
}

// checkObjects checks the rollout and the process of a node: version seq exists, and a new version gets a number above
// the last published one.
func checkObjects(ctx context.Context, c *client.Client, node string, last, seq uint64) error {
	r := rollout.New(c, node, madeRollout)
	v, err := r.Payload(ctx, seq, rollout.Consistency(client.Strict))
	if err != nil {
		return err
	}
	next, err := r.Publish(ctx, []byte("later"))
	for errors.Is(err, client.ErrUnavailable) && workload.Sleep(ctx, time.Second) {
		next, err = r.Publish(ctx, []byte("later")) // whether or not the previous publish succeeded
	}
	if err != nil {
		return err
	}
	p, err := rounds.New(c, node, madeProcess).Describe(ctx, rounds.Consistency(client.Strict))
	if err != nil {
		return err
	}
	if string(v.Payload) != node || next <= last || p.Spec.MinMembers != minMembers {
		return fmt.Errorf("version %d is %q, %d was published after %d, an epoch needs %d members", seq, v.Payload,
			next, last, p.Spec.MinMembers)
	}
	return nil
}
