package rollout

import (
	"context"
	"iter"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
)

// ListOption sets what a list contains.
type ListOption = object.ListOption

// Prefix asks for rollouts only whose names begin with the prefix, byte by byte.
func Prefix(prefix string) ListOption {
	return object.Prefix(prefix)
}

// After asks only for names behind the given name, so that a list can be read in parts.
func After(name string) ListOption {
	return object.After(name)
}

// ListConsistency sets how fresh the list must be, in the place of the mode in the node's config.
func ListConsistency(mode client.Consistency) ListOption {
	return object.ListConsistency(mode)
}

// List lists the rollouts of the node of a path, in the order of their names. The pages show different moments:
// rollouts that come or go while the list is read may be in the list or not.
func List(ctx context.Context, c *client.Client, path string, options ...ListOption) iter.Seq2[*Summary, error] {
	all := object.List(ctx, c, path, options, summaries, func(s *Summary) string { return s.Name })
	return failure.InLoop(all, func(err error) error {
		return failure.Of("rollout", "list rollouts in", path, err)
	})
}

// summaries is the list of one shard.
func summaries(q protocol.ListRequest) object.Pages[*Summary] {
	m := &protocol.RolloutList{ListRequest: q}
	return object.Pages[*Summary]{
		Message: m, Request: &m.ListRequest, Read: func(a *protocol.Answer) (page []*Summary, next []byte) {
			for s := range a.RolloutList.Rollouts.All(0) {
				page = append(page, &s)
			}
			return page, a.RolloutList.Next
		},
	}
}
