package floor

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/loadgen/report"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/raftlog"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

// proposalBytes is about the size of one command.
const proposalBytes = 64

// Host is a host for bare proposals: the log with Signalbox's settings, and nothing above the log.
type Host struct {
	self  shard.HostID
	log   shard.Log
	leads chan struct{} // has capacity for one
	close []func()
}

// Open opens a host in dir.
func Open(dir string, self shard.HostID, members map[shard.HostID]string) (_ *Host, err error) {
	h := &Host{self: self, leads: make(chan struct{}, 1)}
	defer func() {
		if err != nil {
			h.Close()
		}
	}()
	config := raftlog.Config{
		Host: self, Incarnation: incarnation(self), DataDir: dir, Deployment: 1,
		Logger: slog.New(slog.DiscardHandler), InitialMembers: make(map[shard.HostID]hosts.Incarnation),
	}
	for id := range members {
		config.InitialMembers[id] = incarnation(id)
	}
	if len(members) > 1 {
		peers, err := connect(self, members, config.Logger)
		if err != nil {
			return nil, err
		}
		h.close = append(h.close, func() { peers.Close() })
		config.Transport = peers
	}
	host, err := raftlog.Open(config)
	if err != nil {
		return nil, err
	}
	h.close = append(h.close, func() { host.Close() })
	h.log, err = host.Start(1, machine{h.self, h.leads})
	return h, err
}

// Close ends the host.
func (h *Host) Close() {
	for _, f := range slices.Backward(h.close) {
		f()
	}
}

// AwaitLead waits until this host leads.
func (h *Host) AwaitLead(ctx context.Context) error {
	select {
	case <-h.leads:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// leadAgain is the interval of a host's requests to lead.
const leadAgain = 100 * time.Millisecond

// Lead makes this host the leader after any election.
func (h *Host) Lead(ctx context.Context) error {
	again := time.NewTicker(leadAgain)
	defer again.Stop()
	for h.log.Leadership().Leader != h.self {
		select {
		case <-again.C:
			_ = h.log.Transfer(h.self) // before an election there is no leader to ask
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Serve waits until the host leads, then makes proposals one at a time, and returns the measurement. If the host never
// leads, Serve waits until the context ends.
func Serve(ctx context.Context, dir string, self shard.HostID, members map[shard.HostID]string,
	plan load.Plan) (*report.Report, error) {
	host, err := Open(dir, self, members)
	if err != nil {
		return nil, err
	}
	defer host.Close()
	if err := host.AwaitLead(ctx); err != nil {
		return nil, err
	}
	return load.Loop(ctx, plan, []load.Operation{host.Proposer()})
}

// incarnation is equal in every run, because all directories are new.
func incarnation(id shard.HostID) hosts.Incarnation { return hosts.Incarnation{byte(id)} }

// connect listens for other hosts.
func connect(self shard.HostID, members map[shard.HostID]string, log *slog.Logger) (*transport.Transport, error) {
	listener, err := net.Listen("tcp", members[self])
	if err != nil {
		return nil, err
	}
	config := transport.Config{
		Identity: transport.Identity{Host: self, Incarnation: incarnation(self), Deployment: 1},
		Listener: listener, Logger: log,
	}
	for id, address := range members {
		config.Hosts = append(config.Hosts, transport.Host{ID: id, Incarnation: incarnation(id), Address: address})
	}
	return transport.Open(config), nil
}

// Proposer proposes one batch and waits until this host has applied the batch.
func (h *Host) Proposer() load.Operation {
	batch := make([]byte, proposalBytes)
	outcome := make(chan shard.Outcome, 1)
	done := func(o shard.Outcome) { outcome <- o }
	return func(context.Context) error {
		if err := h.log.Propose(batch, done); err != nil {
			return err
		}
		if o := <-outcome; o != shard.OutcomeApplied {
			return fmt.Errorf("the proposal was %v", o)
		}
		return nil
	}
}

// machine is a state machine for announcing leadership.
type machine struct {
	self  shard.HostID
	leads chan struct{} // has capacity for one
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
