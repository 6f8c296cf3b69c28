package server

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

// attendance keeps the record of the host up to date: the process has started, the host was wrongly considered failed,
// has new addresses, or stops. Reports go to the leader of the meta shard, again and again until they are on record.
type attendance struct {
	host  *Host
	wakes chan struct{}
	// booted: the start of the process is on record.
	booted atomic.Bool
	// entered is the revision of the records in use by the host. Only run uses the field.
	entered uint64
}

func (a *attendance) init(h *Host) { a.host, a.wakes = h, make(chan struct{}, 1) }

// wake has the record looked at now.
func (a *attendance) wake() {
	select {
	case a.wakes <- struct{}{}:
	default:
	}
}

func (a *attendance) run(ctx context.Context) {
	for ctx.Err() == nil {
		a.enter()
		rest := attendEvery
		if err := a.attend(ctx); err != nil && ctx.Err() == nil {
			a.host.log.Debug("what this host says of itself is not on record yet", "error", err)
			rest = bootEvery
		}
		select {
		case <-ctx.Done():
		case <-a.wakes:
		case <-time.After(rest):
		}
	}
}

// enter has the host go by the records of the hosts, if the records are new.
func (a *attendance) enter() {
	h := a.host
	if h.meta.Machine.RecordsRevision() == a.entered {
		return
	}
	t, ok := h.meta.Machine.Topology()
	if !ok {
		return
	}
	a.entered = t.Records.Revision()
	h.set.FitWindows(t.Records)
	if h.config.HostsChanged != nil {
		h.config.HostsChanged(t.Records)
	}
}

// founded reports whether the hosts of the cluster have records. A host without a replica of the meta shard has joined,
// or had a replica.
func (a *attendance) founded() bool {
	return a.host.meta.Machine.Founded() || !a.host.set.Holds(replica.MetaShard)
}

// attend reports facts that are not on record.
func (a *attendance) attend(ctx context.Context) error {
	h := a.host
	if h.leaving.Load() || !a.founded() {
		return nil
	}
	own := h.record()
	if own != nil && own.Start == h.config.Start {
		a.booted.Store(true)
	}
	switch epoch, failed := a.takenForFailed(own); {
	case !a.booted.Load() || a.forgotten():
		return a.boot(ctx)
	case failed:
		return a.say(ctx, protocol.HostSay{What: protocol.HostReturns, Epoch: epoch})
	case own != nil && own.Start == h.config.Start && own.Living() && own.Addresses != h.addresses():
		return a.say(ctx, a.moves())
	}
	return nil
}

// takenForFailed reports whether the host is to be offline because of silence, with the epoch. A host without a replica
// of the meta shard goes by the report of the governor, which has no reason, and asks.
func (a *attendance) takenForFailed(own *hosts.Host) (epoch uint64, failed bool) {
	if a.host.set.Holds(replica.MetaShard) {
		if own == nil || own.Wanted() {
			return 0, false
		}
		return own.Target.Epoch, own.Target.Reason.Failed()
	}
	s := a.host.governing.agent.Standing()
	return s.TargetEpoch, s.Target == protocol.HostOffline
}

// forgotten reports whether the host may have been expelled unheard: no governor asks an expelled host, and a
// host without replicas calls no remote host by itself.
func (a *attendance) forgotten() bool { return a.host.governing.agent.Unasked() > unaskedFor }

// boot reports the start of the process, or asks whether the start is on record. A refusal is final.
func (a *attendance) boot(ctx context.Context) error {
	h := a.host
	at := h.addresses()
	answer, err := h.governing.ask(ctx, &protocol.HostBoot{
		HostID: uint64(h.config.ID), Incarnation: h.config.Incarnation[:],
		StartNumber: h.config.Start.Number, StartDraw: h.config.Start.Draw,
		RaftAddress: []byte(at.Raft), ClientAddress: []byte(at.Client), AdminAddress: []byte(at.Admin),
		Version: []byte(h.config.Version), Level: uint64(h.config.Level), Domain: []byte(h.config.Domain.String()),
	})
	if err != nil {
		return err
	}
	switch r := &answer.Result; r.Status {
	case protocol.StatusSuccess:
		a.booted.Store(true)
		return nil
	case protocol.StatusNotFound, protocol.StatusPreconditionFailed, protocol.StatusBadRequest:
		err = fmt.Errorf("%w: %s", ErrRefused, r.Message)
		return h.set.Halt(err)
	default:
		return fmt.Errorf("server: the start of this host is not on record: %v: %s", r.Status, r.Message)
	}
}

// say says something else than a start.
func (a *attendance) say(ctx context.Context, m protocol.HostSay) error {
	c := &a.host.config
	m.HostID, m.Incarnation = uint64(c.ID), c.Incarnation[:]
	m.StartNumber, m.StartDraw = c.Start.Number, c.Start.Draw
	answer, err := a.host.governing.ask(ctx, &m)
	if err == nil && answer.Result.Status != protocol.StatusSuccess {
		err = fmt.Errorf("server: %v: %v: %s", m.What, answer.Result.Status, answer.Result.Message)
	}
	return err
}

// moves reports the addresses of the host.
func (a *attendance) moves() protocol.HostSay {
	at := a.host.addresses()
	return protocol.HostSay{What: protocol.HostMoves, RaftAddress: []byte(at.Raft), ClientAddress: []byte(at.Client),
		AdminAddress: []byte(at.Admin)}
}

// stop reports that the process is to stop, and returns when the host is offline on record, when the report is not on
// record within stopGivesUp, or at the end of the context. A host without peers has nothing to wait for.
func (a *attendance) stop(ctx context.Context) {
	if !a.founded() || !a.booted.Load() || !a.hasOthers() {
		return
	}
	said := false
	for began := time.Now(); ctx.Err() == nil && !a.offline(); {
		if !said {
			err := a.say(ctx, protocol.HostSay{What: protocol.HostStops})
			if said = err == nil; !said && time.Since(began) > stopGivesUp {
				a.host.log.Warn("this host stops without having said so: the meta shard has no leader", "error", err)
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
func (a *attendance) hasOthers() bool {
	h := a.host
	known := h.meta.Machine.Hosts()
	return len(known) == 0 && len(h.config.Hosts) > 1 || slices.ContainsFunc(known, func(x meta.Host) bool {
		return x.ID != h.config.ID && x.Target == protocol.HostOnline
	})
}

// offline reports whether the host is offline on record, as wanted: by the local replica, or by the governor's report.
func (a *attendance) offline() bool {
	s := a.host.governing.agent.Standing()
	if s.Target == protocol.HostOffline && s.Current == protocol.HostOffline && s.TargetEpoch == s.CurrentEpoch {
		return true
	}
	own := a.host.record()
	return own != nil && own.Start == a.host.config.Start && own.Target.Variant == protocol.HostOffline && own.Reached()
}

// ready returns why the host is not ready, as far as the record goes.
func (a *attendance) ready() error {
	if !a.booted.Load() && a.founded() {
		return fmt.Errorf("server: the start of this host is not on record yet: %w", replica.ErrNotReady)
	}
	return nil
}

// addresses are the addresses of the host.
func (h *Host) addresses() hosts.Addresses {
	return hosts.Addresses{Raft: h.config.RaftAddress, Client: h.config.ClientAddress, Admin: h.config.AdminAddress}
}
