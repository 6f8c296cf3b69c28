package config

import (
	"bytes"
	"context"
	"iter"

	"github.com/signalbox/signalbox/client"
)

// Value is a config entry's value at one moment.
type Value struct {
	// Exists reports whether the piece exists: an empty value exists too.
	Exists bool
	Data   []byte
	// Revision grows with every change.
	Revision uint64
}

// Watch returns the values of a config entry: the current value immediately, even if the entry does not exist, then
// each newer value. The node must exist; the entry need not.
//
// The loop ends with an error if the context ends, the node is dropped, or the client is closed. Lost connections and
// leader changes do not end it. A slow loop only gets the newest value.
func Watch(ctx context.Context, c *client.Client, path, name string) iter.Seq2[Value, error] {
	return func(yield func(Value, error) bool) {
		for v, err := range c.Node(path).Watch(ctx, name, client.DataOnly()) {
			if err != nil {
				yield(Value{}, failed("watch", name, err))
				return
			}
			// A new entry with the old name and data is not a change.
			changes := v.Changes()
			if !changes.First && !changes.DataChanged && changes.Created == changes.Deleted {
				continue
			}
			if !yield(Value{Exists: v.Exists, Data: bytes.Clone(v.Data), Revision: v.Revision}, nil) {
				return
			}
		}
	}
}
