package raftlog_test

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/raftlog"
)

// total adds up the lengths of all batches.
type total struct {
	bytes atomic.Int64
	leads chan struct{} // has a token when this host leads
}

func (t *total) Apply(entries []shard.Entry) error {
	for _, e := range entries {
		t.bytes.Add(int64(len(e.Data)))
	}
	return nil
}

func (t *total) PrepareSnapshot() (shard.Snapshot, error) { return snapshot(t.bytes.Load()), nil }

func (t *total) Restore(r io.Reader) error {
	var bytes int64
	_, err := fmt.Fscan(r, &bytes)
	t.bytes.Store(bytes)
	return err
}

func (t *total) LeadershipChanged(l shard.Leadership) {
	if l.Leader == 1 {
		select {
		case t.leads <- struct{}{}:
		default: // must not block
		}
	}
}

type snapshot int64

func (s snapshot) Save(w io.Writer, _ <-chan struct{}) error {
	_, err := fmt.Fprint(w, int64(s))
	return err
}

func (snapshot) Discard() {}

func Example() {
	dir, err := os.MkdirTemp("", "raftlog")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	host, err := raftlog.Open(raftlog.Config{
		Host: 1, Incarnation: hosts.Incarnation{1}, DataDir: dir,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	defer host.Close()
	machine := &total{leads: make(chan struct{}, 1)}
	log, err := host.Start(1, machine)
	if err != nil {
		panic(err)
	}
	<-machine.leads

	outcome := make(chan shard.Outcome)
	if err := log.Propose([]byte("a batch"), func(o shard.Outcome) { outcome <- o }); err != nil {
		panic(err)
	}
	fmt.Println(<-outcome, machine.bytes.Load())

	fresh := make(chan error)
	if err := log.Barrier(func(err error) { fresh <- err }); err != nil {
		panic(err)
	}
	fmt.Println(<-fresh == nil, "what is read now is not stale")
	// Output:
	// applied 7
	// true what is read now is not stale
}
