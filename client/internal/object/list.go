package object

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/core"
	"github.com/signalbox/signalbox/client/internal/option"
	"github.com/signalbox/signalbox/protocol"
)

// ListOption sets what a list contains.
type ListOption func(*protocol.ListRequest)

// Prefix limits the list to objects whose names start with prefix, byte by byte.
func Prefix(prefix string) ListOption {
	return func(q *protocol.ListRequest) { q.Prefix = protocol.View(prefix) }
}

// After asks only for names behind the given name.
func After(name string) ListOption {
	return func(q *protocol.ListRequest) { q.After = []byte(name) }
}

// ListConsistency sets the read consistency and overrides the node's configured mode.
func ListConsistency(mode client.Consistency) ListOption {
	return func(q *protocol.ListRequest) { q.Consistency = protocol.Consistency(mode) }
}

// Pages is one shard's list. Request asks for the next page and is part of Message. Read returns a page's items and
// where the next page starts.
type Pages[T any] struct {
	Message protocol.RequestMessage
	Request *protocol.ListRequest
	Read    func(a *protocol.Answer) (page []T, next []byte)
}

// List lists all objects with one kind in the node at path, sorted by name. shard creates the list for one shard. Pages
// show different moments.
func List[T any](
	ctx context.Context, c *client.Client, path string, options []ListOption,
	shard func(protocol.ListRequest) Pages[T], name func(T) string,
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		node := core.Of(c.Node(path))
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
		for _, s := range node.Client().Cluster().DataShards() {
			q := protocol.ListRequest{NodeID: id, ShardID: s}
			option.Apply(&q, options)
			lists = append(lists, newShardList(shard(q).all(ctx, node.Client().Cluster())))
		}
		merge(lists, name)(yield)
	}
}

// all is one shard's list.
func (p Pages[T]) all(ctx context.Context, c *cluster.Cluster) iter.Seq2[T, error] {
	read := func(a *protocol.Answer) ([]T, bool) {
		page, next := p.Read(a)
		p.Request.After = bytes.Clone(next)
		return page, len(next) > 0
	}
	return cluster.Pages(ctx, c, cluster.NearShardLeader(p.Request.ShardID), p.Message, read)
}

// shardList is one shard's list with the first item not taken yet.
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

// merge merges sorted shard lists into one list sorted by name.
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
