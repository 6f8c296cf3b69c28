package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
)

const (
	// attendEvery is the interval at which the host compares its record with the facts, if nothing wakes it.
	attendEvery = time.Second
	// bootEvery is the interval between reports of a start, until the start is recorded.
	bootEvery = 200 * time.Millisecond
	// stopGivesUp is the time limit for a stopping host to find a governor.
	stopGivesUp = time.Second
	// unaskedFor is how long a host waits for a governor's question before it asks whether it is still in the
	// cluster.
	unaskedFor = 10 * time.Second
	// askWithin is the time limit for a host's answer.
	askWithin = time.Second
)

// ErrRefused is wrapped by the error that halts a host which is not in the cluster.
var ErrRefused = errors.New("the cluster refuses this host")

// registration keeps the host's record up to date: the process has started, the host was wrongly considered failed,
// has new addresses, or is stopping. Reports are sent to the meta shard leader repeatedly until they are recorded.
type registration struct {
	*Membership
	wakes chan struct{}
	// booted: the process start is recorded.
	booted atomic.Bool
	// entered is the revision of the records that the host uses. Only run uses this field.
	entered uint64
}

// wake makes the registration check the record now.
func (r *registration) wake() {
	select {
	case r.wakes <- struct{}{}:
	default:
	}
}

func (r *registration) run(ctx context.Context) {
	for ctx.Err() == nil {
		r.enter()
		rest := attendEvery
		if err := r.attend(ctx); err != nil && ctx.Err() == nil {
			r.Log.Debug("the registration is not recorded yet", "error", err)
			rest = bootEvery
		}
		select {
		case <-ctx.Done():
		case <-r.wakes:
		case <-time.After(rest):
		}
	}
}

// enter applies the host records on this host if they have changed.
func (r *registration) enter() {
	if r.Set.Meta.Machine.RecordsRevision() == r.entered {
		return
	}
	t, ok := r.Set.Meta.Machine.Topology()
	if !ok {
		return
	}
	r.entered = t.Records.Revision()
	if r.HostsChanged != nil {
		r.HostsChanged(t.Records)
	}
}

// Bootstrapped reports whether host records exist. A host without a meta shard replica has joined, or had a replica
// before.
func (m *Membership) Bootstrapped() bool {
	return m.Set.Meta.Machine.Bootstrapped() || !m.Set.Holds(replica.MetaShard)
}

// attend reports facts that are not recorded yet.
func (r *registration) attend(ctx context.Context) error {
	if r.Leaving() || !r.Bootstrapped() {
		return nil
	}
	own := r.record()
	if own != nil && own.Start == r.Start {
		r.booted.Store(true)
	}
	switch epoch, failed := r.takenForFailed(own); {
	case !r.booted.Load() || r.forgotten():
		return r.boot(ctx)
	case failed:
		return r.Report(ctx, protocol.HostNotify{Event: protocol.HostReturned, Epoch: epoch})
	case own != nil && own.Start == r.Start && own.Living() && own.Addresses != r.Addresses:
		return r.Report(ctx, r.moves())
	}
	return nil
}

// takenForFailed reports whether the cluster considers this running host failed, and the epoch of that decision. A host
// without a meta shard replica only knows the target state in the governor's report, which has no reason, so any
// Offline target counts.
func (r *registration) takenForFailed(own *hosts.Host) (epoch uint64, failed bool) {
	if r.Set.Holds(replica.MetaShard) {
		if own == nil || own.Wanted() {
			return 0, false
		}
		return own.Target.Epoch, own.Target.Reason.Failed()
	}
	s := r.agent.Standing()
	return s.TargetEpoch, s.Target == protocol.HostOffline
}

// forgotten reports whether the host may have been expelled without noticing: no governor asks an expelled host, and
// a host without replicas does not call remote hosts.
func (r *registration) forgotten() bool { return r.agent.Unasked() > unaskedFor }

// boot reports the process start, or asks whether the start is recorded. A refusal is final.
func (r *registration) boot(ctx context.Context) error {
	at := r.Addresses
	answer, err := r.ask(ctx, &protocol.HostBoot{
		HostID: uint64(r.ID), Incarnation: r.Incarnation[:],
		StartNumber: r.Start.Number, StartNonce: r.Start.Draw,
		RaftAddress: []byte(at.Raft), ClientAddress: []byte(at.Client), AdminAddress: []byte(at.Admin),
		Version: []byte(r.Version), Level: uint64(r.Level), Domain: []byte(r.Domain.String()),
	})
	if err != nil {
		return err
	}
	switch result := &answer.Result; result.Status {
	case protocol.StatusSuccess:
		r.booted.Store(true)
		return nil
	case protocol.StatusNotFound, protocol.StatusPreconditionFailed, protocol.StatusBadRequest:
		err = fmt.Errorf("%w: %s", ErrRefused, result.Message)
		return r.Set.Halt(err)
	default:
		return fmt.Errorf("server: the start is not recorded: %v: %s", result.Status, result.Message)
	}
}

// Report sends a report other than a start, and returns when it is recorded.
func (m *Membership) Report(ctx context.Context, say protocol.HostNotify) error {
	say.HostID, say.Incarnation = uint64(m.ID), m.Incarnation[:]
	say.StartNumber, say.StartNonce = m.Start.Number, m.Start.Draw
	answer, err := m.ask(ctx, &say)
	if err == nil && answer.Result.Status != protocol.StatusSuccess {
		err = fmt.Errorf("server: %v: %v: %s", say.Event, answer.Result.Status, answer.Result.Message)
	}
	return err
}

// moves returns the report with the host's addresses.
func (r *registration) moves() protocol.HostNotify {
	at := r.Addresses
	return protocol.HostNotify{Event: protocol.HostAddressChanged, RaftAddress: []byte(at.Raft),
		ClientAddress: []byte(at.Client), AdminAddress: []byte(at.Admin)}
}

// stop reports that the process is stopping. stop returns when the host is recorded as offline, when the report is
// not recorded within stopGivesUp, or when the context ends. A host without peers has nothing to wait for.
func (r *registration) stop(ctx context.Context) {
	if !r.Bootstrapped() || !r.booted.Load() || !r.hasOthers() {
		return
	}
	said := false
	for began := time.Now(); ctx.Err() == nil && !r.offline(); {
		if !said {
			err := r.Report(ctx, protocol.HostNotify{Event: protocol.HostStopping})
			if said = err == nil; !said && time.Since(began) > stopGivesUp {
				r.Log.Warn("the host stops without announcing it: the meta shard has no leader", "error", err)
				return
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(replica.Tick):
		}
	}
}

// hasOthers reports whether the cluster has a remote host whose target state is online; without records, whether it
// has a remote host at all.
func (r *registration) hasOthers() bool {
	known := r.Set.Meta.Machine.Hosts()
	return len(known) == 0 && len(r.Hosts) > 1 || slices.ContainsFunc(known, func(x meta.Host) bool {
		return x.ID != r.ID && x.Target == protocol.HostOnline
	})
}

// offline reports whether the host is recorded as offline, as requested: in the local replica, or in the governor's
// report.
func (r *registration) offline() bool {
	s := r.agent.Standing()
	if s.Target == protocol.HostOffline && s.Current == protocol.HostOffline && s.TargetEpoch == s.CurrentEpoch {
		return true
	}
	own := r.record()
	return own != nil && own.Start == r.Start && own.Target.Variant == protocol.HostOffline && own.Reached()
}

// ready returns why the host's record makes it not ready, nil if it does not.
func (r *registration) ready() error {
	if !r.booted.Load() && r.Bootstrapped() {
		return fmt.Errorf("server: the start is not recorded yet: %w", replica.ErrNotReady)
	}
	return nil
}
