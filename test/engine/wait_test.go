package engine_test

import (
	"io"
	"log/slog"
	"sync"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/raftlog"
	"github.com/signalbox/signalbox/shard/raftlog/raftlogtest"
	"github.com/signalbox/signalbox/test/engine"
)

// nothing is a state machine without a state.
type nothing struct{}

func (nothing) Apply([]shard.Entry) error                 { return nil }
func (nothing) PrepareSnapshot() (shard.Snapshot, error)  { return nothing{}, nil }
func (nothing) Restore(r io.Reader) error                 { _, err := io.ReadAll(r); return err }
func (nothing) LeadershipChanged(shard.Leadership)        {}
func (nothing) Save(w io.Writer, _ <-chan struct{}) error { _, err := w.Write([]byte("-")); return err }
func (nothing) Discard()                                  {}

// TestNoWaitHoldsAMutex: replicas that are started and stopped by many goroutines wait for one another, and time goes
// on meanwhile. With a mutex it stands still for ever.
func TestNoWaitHoldsAMutex(t *testing.T) {
	engine.InBubble(t, engine.Plan{}, func(t *testing.T) {
		m := raftlogtest.NewMachine(raftlogtest.NewNetwork(), "host-1:7421", raftlog.Config{
			Host: 1, Incarnation: hosts.Incarnation{1}, Logger: slog.New(slog.DiscardHandler),
		})
		p, err := m.Start(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		var users sync.WaitGroup
		for id := range uint64(3) {
			users.Go(func() {
				for range 3 {
					l, err := p.Host.Start(id+1, nothing{})
					if err != nil {
						t.Error(err)
						return
					}
					users.Go(func() { l.Close() })
					l.Close()
				}
			})
		}
		users.Wait()
		users.Go(m.Stop)
		p.Host.Close()
		users.Wait()
	})
}
