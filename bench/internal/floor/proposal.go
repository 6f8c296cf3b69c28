package floor

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/loadgen/report"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog"
)

// proposalBytes is about what one command takes.
const proposalBytes = 64

// Serve is one of the hosts that a bare proposal is measured on: the log as Signalbox sets it up, and
// nothing above it. It waits for this host to lead, and then makes proposals, one at a time, and returns
// what that came to; a host that never leads stays until the context ends.
func Serve(ctx context.Context, dir string, self shard.HostID, members map[shard.HostID]string,
	plan load.Plan) (*report.Report, error) {
	host, err := raftlog.Open(raftlog.Config{
		Host: self, DataDir: dir, Members: members, Deployment: 1,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return nil, err
	}
	defer host.Close()
	m := machine{self, make(chan struct{}, 1)}
	log, err := host.Start(1, m)
	if err != nil {
		return nil, err
	}
	select {
	case <-m.leads:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return load.Loop(ctx, plan, []load.Operation{proposer(log)})
}

// proposer proposes one batch and waits until it is applied here.
func proposer(log shard.Log) load.Operation {
	batch := make([]byte, proposalBytes)
	outcome := make(chan shard.Outcome, 1)
	done := func(o shard.Outcome) { outcome <- o }
	return func(context.Context) error {
		if err := log.Propose(batch, done); err != nil {
			return err
		}
		if o := <-outcome; o != shard.OutcomeApplied {
			return fmt.Errorf("the proposal was %v", o)
		}
		return nil
	}
}

// machine is a state machine that does nothing but announce when its host begins to lead.
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
