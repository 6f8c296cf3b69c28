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
	// attendEvery is the interval between two comparisons of the host's record with the facts, without a wake.
	attendEvery = time.Second
	// bootEvery is the interval between reports of a start, until the start is on record.
	bootEvery = 200 * time.Millisecond
	// stopGivesUp is the maximum time of a stopping host to find a governor.
	stopGivesUp = time.Second
	// unaskedFor is how long a host waits for a question of a governor, before asking whether the host still is in the
	// cluster.
	unaskedFor = 10 * time.Second
	// askWithin is the maximum time of a host to answer.
	askWithin = time.Second
)

// ErrRefused is wrapped by the error that halts a host outside of the cluster.
var ErrRefused = errors.New("the cluster refuses this host")

// registration keeps the record of the host up to date: the process has started, the host was wrongly considered
// failed, has new addresses, or stops. Reports go to the leader of the meta shard, again and again until they are on
// record.
type registration struct {
	*Membership
	wakes chan struct{}
	// booted: the start of the process is on record.
	booted atomic.Bool
	// entered is the revision of the records in use by the host. Only run uses the field.
	entered uint64
}

// wake has the record looked at now.
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
			r.Log.Debug("what this host says of itself is not on record yet", "error", err)
			rest = bootEvery
		}
		select {
		case <-ctx.Done():
		case <-r.wakes:
		case <-time.After(rest):
		}
	}
}

// enter has the host go by the records of the hosts, if the records are new.
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

// Bootstrapped reports whether the hosts of the cluster have records. A host without a replica of the meta shard has
// joined, or had a replica.
func (m *Membership) Bootstrapped() bool {
	return m.Set.Meta.Machine.Bootstrapped() || !m.Set.Holds(replica.MetaShard)
}

// attend reports facts that are not on record.
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

// takenForFailed reports whether the host is to be offline because of silence, with the epoch. A host without a replica
// of the meta shard goes by the report of the governor, which has no reason, and asks.
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

// forgotten reports whether the host may have been expelled unheard: no governor asks an expelled host, and a
// host without replicas calls no remote host by itself.
func (r *registration) forgotten() bool { return r.agent.Unasked() > unaskedFor }

// boot reports the start of the process, or asks whether the start is on record. A refusal is final.
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
		return fmt.Errorf("server: the start of this host is not on record: %v: %s", result.Status, result.Message)
	}
}

// Report reports something else than a start, and returns once the report is on record.
func (m *Membership) Report(ctx context.Context, say protocol.HostNotify) error {
	say.HostID, say.Incarnation = uint64(m.ID), m.Incarnation[:]
	say.StartNumber, say.StartNonce = m.Start.Number, m.Start.Draw
	answer, err := m.ask(ctx, &say)
	if err == nil && answer.Result.Status != protocol.StatusSuccess {
		err = fmt.Errorf("server: %v: %v: %s", say.Event, answer.Result.Status, answer.Result.Message)
	}
	return err
}

// moves reports the addresses of the host.
func (r *registration) moves() protocol.HostNotify {
	at := r.Addresses
	return protocol.HostNotify{Event: protocol.HostAddressChanged, RaftAddress: []byte(at.Raft),
		ClientAddress: []byte(at.Client), AdminAddress: []byte(at.Admin)}
}

// stop reports that the process is to stop, and returns when the host is offline on record, when the report is not on
// record within stopGivesUp, or at the end of the context. A host without peers has nothing to wait for.
func (r *registration) stop(ctx context.Context) {
	if !r.Bootstrapped() || !r.booted.Load() || !r.hasOthers() {
		return
	}
	said := false
	for began := time.Now(); ctx.Err() == nil && !r.offline(); {
		if !said {
			err := r.Report(ctx, protocol.HostNotify{Event: protocol.HostStopping})
			if said = err == nil; !said && time.Since(began) > stopGivesUp {
				r.Log.Warn("this host stops without having said so: the meta shard has no leader", "error", err)
				return
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(replica.Tick):
		}
	}
}

// hasOthers reports whether the cluster has a second host that is to be online; without records, a second host at all.
func (r *registration) hasOthers() bool {
	known := r.Set.Meta.Machine.Hosts()
	return len(known) == 0 && len(r.Hosts) > 1 || slices.ContainsFunc(known, func(x meta.Host) bool {
		return x.ID != r.ID && x.Target == protocol.HostOnline
	})
}

// offline reports whether the host is offline on record, as wanted: by the local replica, or by the governor's report.
func (r *registration) offline() bool {
	s := r.agent.Standing()
	if s.Target == protocol.HostOffline && s.Current == protocol.HostOffline && s.TargetEpoch == s.CurrentEpoch {
		return true
	}
	own := r.record()
	return own != nil && own.Start == r.Start && own.Target.Variant == protocol.HostOffline && own.Reached()
}

// ready returns why the host is not ready, as far as the record goes.
func (r *registration) ready() error {
	if !r.booted.Load() && r.Bootstrapped() {
		return fmt.Errorf("server: the start of this host is not on record yet: %w", replica.ErrNotReady)
	}
	return nil
}
