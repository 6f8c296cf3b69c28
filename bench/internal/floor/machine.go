package floor

import (
	"io"

	"github.com/signalbox/signalbox/shard"
)

// machine is a state machine that does nothing but tell when its host begins to lead.
type machine struct {
	self  shard.HostID
	leads chan struct{} // has room for one
}

func (machine) Apply([]shard.Entry) error                { return nil }
func (machine) PrepareSnapshot() (shard.Snapshot, error) { return nothing{}, nil }
func (machine) Restore(io.Reader) error                  { return nil }

func (m machine) LeadershipChanged(l shard.Leadership) {
	if l.Leader == m.self {
		select {
		case m.leads <- struct{}{}:
		default:
		}
	}
}

// nothing is the snapshot of a state machine without state.
type nothing struct{}

func (nothing) Discard() {}
func (nothing) Save(w io.Writer, _ <-chan struct{}) error {
	_, err := w.Write([]byte{1})
	return err
}
