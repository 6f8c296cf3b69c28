package rollout

import (
	"context"
	"iter"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
)

// ListOption sets what a list contains.
type ListOption = object.ListOption

// Prefix limits the list to rollouts whose names start with prefix, byte by byte.
func Prefix(prefix string) ListOption {
	return object.Prefix(prefix)
}

// After limits the list to names after the given name, so a list can be read in sections.
func After(name string) ListOption {
	return object.After(name)
}

// ListConsistency sets the read consistency and overrides the node's configured mode.
func ListConsistency(mode client.Consistency) ListOption {
	return object.ListConsistency(mode)
}

// List lists all rollouts in the node at path, sorted by name. Pages show different moments: rollouts that are created
// or deleted during the list may be missing.
func List(ctx context.Context, c *client.Client, path string, options ...ListOption) iter.Seq2[*Summary, error] {
	all := object.List(ctx, c, path, options, func(s *Summary) string { return s.Name }, summaries)
	return failure.InLoop(all, func(err error) error {
		return failure.Of("rollout", "list rollouts in", path, err)
	})
}

// summaries is a page of the list.
func summaries(q protocol.ListRequest) (
	protocol.ListMessage, func(a *protocol.Answer) cluster.Page[*Summary, string],
) {
	return &protocol.RolloutList{ListRequest: q}, func(a *protocol.Answer) (page cluster.Page[*Summary, string]) {
		for s := range a.RolloutList.Rollouts.All(0) {
			page.Items = append(page.Items, &s)
		}
		page.Next, page.Missing = string(a.RolloutList.Next), a.RolloutList.Missing
		return page
	}
}
