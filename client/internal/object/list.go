package object

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/door"
	"github.com/signalbox/signalbox/protocol"
)

// Pages is the list of one shard: Message asks for the next page, and Read returns the items of a page, and makes
// Message ask for the page after; more is false for the last page.
type Pages[T any] struct {
	Message protocol.RequestMessage
	Shard   uint64
	Read    func(a *protocol.Answer) (page []T, more bool)
}

// List lists the objects of a kind in the node of a path, in the order of their names: shard makes the list of one
// shard. The pages show different moments.
func List[T any](
	ctx context.Context, c *client.Client, path string, shard func(node, shard uint64) Pages[T], name func(T) string,
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		node := door.OfNode(c.Node(path))
		id, err := node.ID(ctx)
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		var lists []*shardList[T]
		defer func() {
			for _, l := range lists {
				l.stop()
			}
		}()
		for _, s := range node.Client().Cluster.DataShards() {
			lists = append(lists, newShardList(shard(id, s).all(ctx, node.Client().Cluster)))
		}
		merge(lists, name)(yield)
	}
}

// all is the list of one shard.
func (p Pages[T]) all(ctx context.Context, c *cluster.Cluster) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for more := true; more; {
			var page []T
			err := c.Do(ctx, cluster.NearShardLeader(p.Shard), p.Message, func(a *protocol.Answer) {
				page, more = p.Read(a)
			})
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range page {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// shardList is the list of one shard, with the first item that was not taken.
type shardList[T any] struct {
	first T
	err   error
	more  bool
	next  func() (T, error, bool)
	stop  func()
}

func newShardList[T any](all iter.Seq2[T, error]) *shardList[T] {
	l := &shardList[T]{}
	l.next, l.stop = iter.Pull2(all)
	l.advance()
	return l
}

func (l *shardList[T]) advance() { l.first, l.err, l.more = l.next() }

// merge merges the lists of shards into one list in the order of names. The lists of the shards are in the order of
// names.
func merge[T any](lists []*shardList[T], name func(T) string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			for _, l := range lists {
				if l.err != nil {
					var none T
					yield(none, l.err)
					return
				}
			}
			lists = slices.DeleteFunc(slices.Clone(lists), func(l *shardList[T]) bool { return !l.more })
			if len(lists) == 0 {
				return
			}
			least := slices.MinFunc(lists, func(a, b *shardList[T]) int {
				return strings.Compare(name(a.first), name(b.first))
			})
			if !yield(least.first, nil) {
				return
			}
			least.advance()
		}
	}
}
