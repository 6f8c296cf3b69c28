package config

import (
	"bytes"
	"context"
	"iter"

	"github.com/signalbox/signalbox/client"
)

// Value is a piece of config at one moment.
type Value struct {
	// Exists reports whether the piece exists: an empty value exists too.
	Exists bool
	Data   []byte
	// Revision grows with every change.
	Revision uint64
}

// Watch returns the values of a piece of config: the present value at once, even if the piece does not exist, and then
// a newer value whenever it has changed. The node must exist, the name need not.
//
// The loop ends with an error when the context ends, the node is dropped, or the client is closed; lost connections
// and changes of leader do not end the loop. A slow loop gets the newest value only.
func Watch(ctx context.Context, c *client.Client, path, name string) iter.Seq2[Value, error] {
	return func(yield func(Value, error) bool) {
		for v, err := range c.Node(path).Watch(ctx, name, client.DataOnly()) {
			if err != nil {
				yield(Value{}, failed("watch", name, err))
				return
			}
			// A new piece of the old name, with the old data, is no news.
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
