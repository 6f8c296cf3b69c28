package process

import (
	"context"
	"iter"
	"time"

	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
)

// Watch returns the states of the process, for a screen: the present state first, and then the newest state whenever
// the process has changed, with the reasons why the round does not move. A state comes at least once in the time
// every, because time alone changes reasons and ages; with 0 only changes count. The process need not exist.
//
// The loop ends with an error when the context ends, the node is dropped, or the client is closed; lost connections do
// not end the loop.
func (p *Process) Watch(ctx context.Context, every time.Duration) iter.Seq2[*State, error] {
	return failure.InLoop(object.Watch(ctx, &p.object, protocol.ObjectProcess, every, object.States[State]{
		Describe: p.Describe, Revision: func(s *State) *uint64 { return &s.Revision },
	}), func(err error) error { return failed("watch", p.Name(), err) })
}

// WatchResults returns the process's results with payloads, each once, in epoch order: first the stored results, then
// each new result. A slow loop misses results that are no longer stored. The process need not exist. Result.Decode
// decodes a payload as MsgPack.
//
// The loop ends with an error, as in Watch.
func (p *Process) WatchResults(ctx context.Context) iter.Seq2[*Result, error] {
	all := func(yield func(*Result, error) bool) {
		last := uint64(0)
		for v, err := range p.object.Views(ctx, protocol.ObjectProcess, "results") {
			if err != nil {
				yield(nil, err)
				return
			}
			for row := range v.Rows.All() {
				var m kind.ResultRow
				if err := protocol.ReadRecord(row.Body, &m, 0); err != nil {
					yield(nil, err)
					return
				}
				if m.Epoch <= last {
					continue
				}
				last = m.Epoch
				if r := resultOf(&m); !yield(&r, nil) {
					return
				}
			}
		}
	}
	return failure.InLoop(all, func(err error) error { return failed("watch", p.Name(), err) })
}
