package engine_test

import (
	"flag"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

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

// TestNoWaitHoldsAMutex: many goroutines start and stop replicas and wait for each other, while time advances. If a
// wait held a mutex, time would stall forever.
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

var standing = flag.String("standing", "",
	"TestTimeThatStandsStillIsPlayedAgain has time stand still where there is no file of that name yet")

// TestTimeThatStandsStillIsPlayedAgain: the output names the goroutines waiting for a mutex; the second run has no such
// wait.
func TestTimeThatStandsStillIsPlayedAgain(t *testing.T) {
	if *standing != "" {
		engine.SetStandstill(100 * time.Millisecond)
		engine.InBubble(t, engine.Plan{}, func(t *testing.T) {
			_, err := os.Stat(*standing)
			if file, made := os.Create(*standing); made != nil || file.Close() != nil {
				t.Fatal(made)
			}
			if err == nil {
				return
			}
			var mu sync.Mutex
			mu.Lock()
			go waitsForAMutex(&mu)
			time.Sleep(time.Second)
		})
		return
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := t.TempDir() + "/stood"
	out, err := engine.Apart(t.Context(), program, "-test.run=^"+t.Name()+"$", "-standing="+file)
	if err != nil || strings.Contains(string(out), "stands still") {
		t.Fatalf("played again: %v\n%s", err, out)
	}
}

// waitsForAMutex has a bubble's time stand still.
func waitsForAMutex(mu *sync.Mutex) { mu.Lock() }
