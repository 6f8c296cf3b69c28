package process

import (
	"bytes"
	"context"
	"iter"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
)

// ListOption sets what a list contains.
type ListOption func(*protocol.ProcessList)

// Prefix asks for processes only whose names begin with the prefix, byte by byte.
func Prefix(prefix string) ListOption {
	return func(m *protocol.ProcessList) { m.Prefix = protocol.View(prefix) }
}

// After asks only for names behind the given name, so that a list can be read in parts.
func After(name string) ListOption {
	return func(m *protocol.ProcessList) { m.After = []byte(name) }
}

// ListConsistency sets how fresh the list must be, in the place of the mode in the node's config.
func ListConsistency(mode client.Consistency) ListOption {
	return func(m *protocol.ProcessList) { m.Consistency = protocol.Consistency(mode) }
}

// List lists the processes of the node of a path, in the order of their names. The pages show different moments:
// processes that come or go while the list is read may be in the list or not.
func List(ctx context.Context, c *client.Client, path string, options ...ListOption) iter.Seq2[*Summary, error] {
	all := object.List(ctx, c, path, func(node, shard uint64) object.Pages[*Summary] {
		return summaries(node, shard, options)
	}, func(s *Summary) string { return s.Name })
	return object.WithErrors(all, func(err error) error {
		return failure.Of("process", "list processes of", path, err)
	})
}

// summaries is the list of one shard.
func summaries(node, shard uint64, options []ListOption) object.Pages[*Summary] {
	m := &protocol.ProcessList{NodeID: node, ShardID: shard}
	for _, o := range options {
		o(m)
	}
	read := func(a *protocol.Answer) (page []*Summary, more bool) {
		for row := range a.ProcessList.Processes.All(a.ProcessList.NowMillis) {
			page = append(page, &row.Summary)
		}
		m.After = bytes.Clone(a.ProcessList.Next)
		return page, len(m.After) > 0
	}
	return object.Pages[*Summary]{Message: m, Shard: shard, Read: read}
}
