package rollout

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/door"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/protocol"
)

// Summary is a rollout in a list.
type Summary struct {
	Name      string
	Revision  uint64
	Phase     Phase
	Locations int
	// Reached is how many locations have reached their target, and have the newest version.
	Reached   int
	Instances int
	LastSeq   uint64 // of the newest version
	Label     string // of the newest version
}

// ListOption sets what a list contains.
type ListOption func(*protocol.RolloutList)

// Prefix asks for those rollouts only whose names begin with it, byte by byte.
func Prefix(prefix string) ListOption {
	return func(m *protocol.RolloutList) { m.Prefix = protocol.View(prefix) }
}

// ListConsistency asks for more, or less, than the node's config does.
func ListConsistency(mode client.Consistency) ListOption {
	return func(m *protocol.RolloutList) { m.Consistency = protocol.Consistency(mode) }
}

// List lists the rollouts of the node of that path, in the order of their names. Pages are not one moment: what comes
// or goes while the list is read may be in it or not.
func List(ctx context.Context, c *client.Client, path string, options ...ListOption) iter.Seq2[*Summary, error] {
	return func(yield func(*Summary, error) bool) {
		node := door.OfNode(c.Node(path))
		id, err := node.ID(ctx)
		if err != nil {
			yield(nil, failedList(path, err))
			return
		}
		var lists []*shardList
		defer func() {
			for _, l := range lists {
				l.stop()
			}
		}()
		for _, shard := range node.Client().Cluster.DataShards() {
			m := &protocol.RolloutList{NodeID: id, ShardID: shard}
			for _, o := range options {
				o(m)
			}
			lists = append(lists, newShardList(summaries(ctx, node.Client().Cluster, m)))
		}
		for item, err := range merge(lists) {
			if !yield(item, failedList(path, err)) || err != nil {
				return
			}
		}
	}
}

func failedList(path string, err error) error {
	return failure.Of("rollout", "list rollouts of", path, err)
}

// shardList is the list of one shard, and its first item that was not taken.
type shardList struct {
	first *Summary // nil at the end
	err   error
	next  func() (*Summary, error, bool)
	stop  func()
}

func newShardList(all iter.Seq2[*Summary, error]) *shardList {
	l := &shardList{}
	l.next, l.stop = iter.Pull2(all)
	l.advance()
	return l
}

func (l *shardList) advance() { l.first, l.err, _ = l.next() }

// merge makes one list in the order of names out of those of shards, which are in that order.
func merge(lists []*shardList) iter.Seq2[*Summary, error] {
	return func(yield func(*Summary, error) bool) {
		for {
			for _, l := range lists {
				if l.err != nil {
					yield(nil, l.err)
					return
				}
			}
			lists = slices.DeleteFunc(slices.Clone(lists), func(l *shardList) bool { return l.first == nil })
			if len(lists) == 0 {
				return
			}
			least := slices.MinFunc(lists, func(a, b *shardList) int {
				return strings.Compare(a.first.Name, b.first.Name)
			})
			if !yield(least.first, nil) {
				return
			}
			least.advance()
		}
	}
}

// summaries is the list of one shard.
func summaries(ctx context.Context, c *cluster.Cluster, m *protocol.RolloutList) iter.Seq2[*Summary, error] {
	return func(yield func(*Summary, error) bool) {
		for more := true; more; more = len(m.After) > 0 {
			var page []*Summary
			err := c.Do(ctx, cluster.NearShardLeader(m.ShardID), m, func(a *protocol.Answer) {
				for s := range a.RolloutList.Rollouts.All() {
					page = append(page, summaryOf(&s))
				}
				m.After = bytes.Clone(a.RolloutList.Next)
			})
			if err != nil {
				yield(nil, err)
				return
			}
			for _, s := range page {
				if !yield(s, nil) {
					return
				}
			}
		}
	}
}

func summaryOf(m *protocol.RolloutSummary) *Summary {
	return &Summary{
		Name: string(m.Name), Revision: m.Revision, Phase: Phase(m.Phase), Locations: int(m.Locations),
		Reached: int(m.Reached), Instances: int(m.Instances), LastSeq: m.LastSeq, Label: string(m.Label),
	}
}
