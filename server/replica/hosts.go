package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
)

// ErrNotLeading is returned for commands only the meta shard leader proposes, after its term has begun.
var ErrNotLeading = errors.New("server: the host does not lead the meta shard, or its term has not begun")

// ErrUnknown is returned for a meta shard command whose outcome is unknown.
var ErrUnknown = errors.New("server: the outcome of a meta shard command is unknown")

// allKnown reports whether all hosts in the cluster are on record. In a bootstrapped cluster, the hosts with records
// are all hosts.
func (m *Meta) allKnown() bool {
	unknown := func(id shard.HostID) bool {
		_, known := m.Machine.Host(id)
		return !known
	}
	return m.Machine.Bootstrapped() || !slices.ContainsFunc(m.set.config.Hosts, unknown)
}

// mayFound reports whether the host records can be created.
func (m *Meta) mayFound() bool {
	return !m.Machine.Bootstrapped() && m.allKnown() &&
		len(m.Machine.Hosts()) <= hosts.MaxHosts
}

// foundHosts creates the host records, if the local host leads and all hosts have registered.
func (m *Meta) foundHosts() {
	if !m.mayFound() || m.term.stamp(m.set.Now()).Term == 0 {
		return
	}
	found := &meta.HostsBootstrap{}
	for _, h := range m.Machine.Hosts() {
		found.InitialMembers = append(found.InitialMembers, meta.InitialMember{ID: h.ID,
			Incarnation: m.set.config.Incarnations[h.ID]})
	}
	m.request(meta.NewCommand(found, m.set.Origin("host "+m.set.config.Self.Name, "all hosts support the level")))
}

// Do proposes a command about hosts, replicas or steps, and waits for the result. See DoAll.
func (m *Meta) Do(ctx context.Context, r meta.Request, o meta.Origin) (meta.Effect, error) {
	return m.DoAll(ctx, meta.NewCommand(r, o))
}

// DoAll proposes commands in one batch, and waits for the first command's result. An error means that the commands
// had no effect, or that the outcome is unknown. The goroutine that applies batches must not call DoAll.
func (m *Meta) DoAll(ctx context.Context, commands ...meta.Command) (meta.Effect, error) {
	if m.term.stamp(m.set.Now()).Term == 0 {
		return meta.Effect{}, ErrNotLeading
	}
	type outcome struct {
		effect meta.Effect
		failed protocol.Status
	}
	ended := make(chan outcome, 1)
	m.propose(func(e *meta.Effect, failed protocol.Status) {
		if e != nil {
			ended <- outcome{effect: *e}
			return
		}
		ended <- outcome{failed: failed}
	}, commands...)
	select {
	case o := <-ended:
		if o.failed != protocol.StatusSuccess {
			return meta.Effect{}, fmt.Errorf("%w: %v", ErrUnknown, o.failed)
		}
		return o.effect, nil
	case <-ctx.Done():
		return meta.Effect{}, fmt.Errorf("%w: %w", ErrUnknown, ctx.Err())
	}
}

// Origin returns the author and reason for a change to hosts, replicas or steps.
func (s *Set) Origin(by, why string) meta.Origin {
	return meta.Origin{Wall: field.WallMillis(s.Now()), By: by, Why: why}
}

// Topology returns the hosts, their replicas and the steps, with the shard time for a command that is proposed now.
// ok is false if the hosts are not bootstrapped.
func (m *Meta) Topology() (t meta.Topology, now uint64, ok bool) {
	if t, ok = m.Machine.Topology(); !ok {
		return t, 0, false
	}
	ahead := t.Clock
	if s := m.term.stamp(m.set.Now()); s != (clock.Stamp{}) {
		ahead.Advance(s)
	}
	return t, ahead.Now, true
}

// logAudited logs an applied change on the leader's host.
func (m *Meta) logAudited(e *hosts.Entry) {
	l := m.Leader()
	if l.Leader != m.set.config.Self.ID || l.Term != m.batch.Stamp.Term {
		return
	}
	m.set.log.Info("the hosts of the cluster have changed", "number", e.Number, "event", e.Event.String(),
		"subject", e.Name, "change", e.Text, "by", e.By, "reason", e.Why)
}

// mayRaise reports whether every host in the cluster supports a level above the current one.
func (m *Meta) mayRaise() bool {
	lowest, _ := m.Machine.LevelHolders()
	return lowest > m.Machine.Level() && m.allKnown()
}

// raiseLevel raises the cluster's level if every host supports the next one.
func (m *Meta) raiseLevel() {
	if m.leads() && m.mayRaise() {
		lowest, _ := m.Machine.LevelHolders()
		m.request(meta.Command{Kind: meta.CmdClusterLevel, Raise: min(lowest, level.Newest)})
	}
}
