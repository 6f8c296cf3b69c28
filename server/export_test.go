package server

import (
	"bytes"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/handle/backup"
	"github.com/signalbox/signalbox/server/health/overview"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/meta"
)

// Broadcast pushes a message to every client that has said its HELLO.
func (h *Host) Broadcast(m protocol.PushMessage) { h.conns.Push(false, m) }

// AboveLevel is the answer to a request that needs a level which a shard has not reached.
func (h *Host) AboveLevel(needs level.Level) *protocol.Result { return h.aboveLevel(needs) }

// AfterBind has a host call f between the binding of a session to a connection and the look whether it still lives.
func (h *Host) AfterBind(f func()) { h.set.AfterBind = f }

// EndApplied has the machine of a session's home at this host as it is between the end of the session and the report of
// the end.
func (h *Host) EndApplied(id shard.SessionID) {
	m := h.set.Of(id.Slot()).Machine
	m.Apply(&shard.Batch{Stamp: clock.Stamp{Term: m.Term()},
		Commands: []shard.Command{{Kind: shard.CmdSessionEnd, Session: id}}}, &shard.Effects{})
}

// Label is how the value of a label is written in /metrics.
var Label = label

// BootstrapHosts makes the records of all hosts that have registered, through the host that leads the meta shard.
func (h *Host) BootstrapHosts() {
	r := &meta.HostsBootstrap{}
	for _, x := range h.meta.Machine.Hosts() {
		r.InitialMembers = append(r.InitialMembers, meta.InitialMember{ID: x.ID})
	}
	done := make(chan struct{})
	h.meta.Propose(meta.NewCommand(r, meta.Origin{}), func(*meta.Effect, protocol.Status) { close(done) })
	<-done
}

// GovernBy has questions about what is changed among the hosts answered by g.
func (h *Host) GovernBy(g overview.Governor) { h.governor = g }

// EnsureBootstrapped has the hosts of the cluster bootstrapped, where they are not yet and this host leads the meta
// shard.
func (h *Host) EnsureBootstrapped() (bootstrapped bool) {
	m := h.meta.Machine
	if !m.Bootstrapped() && h.meta.Leader().Leader == h.config.ID {
		found := &meta.HostsBootstrap{}
		for _, x := range m.Hosts() {
			found.InitialMembers = append(found.InitialMembers, meta.InitialMember{ID: x.ID})
		}
		h.meta.Propose(meta.NewCommand(found, meta.Origin{By: "test"}), func(*meta.Effect, protocol.Status) {})
	}
	return m.Bootstrapped()
}

// MetaLeader is who leads the meta shard, as far as this host knows.
func (h *Host) MetaLeader() shard.HostID { return h.meta.Leader().Leader }

// ForgetNodes has this host's copy of the meta shard be as it is before it is filled.
func (h *Host) ForgetNodes() error {
	saved, err := meta.New().PrepareSnapshot()
	if err != nil {
		return err
	}
	defer saved.Discard()
	var data bytes.Buffer
	if err := saved.Save(&data, nil); err != nil {
		return err
	}
	return h.meta.Restore(&data)
}

// MaxExports is how many states a host has fixed for backups at once.
const MaxExports = backup.MaxStates

// HoldOpenings has the watches of all connections wait until release is called.
func (h *Host) HoldOpenings() (release func()) {
	held := make(chan struct{})
	h.opening.Add(silent{}, func() { <-held })
	return func() { close(held) }
}

// silent is a connection that nothing is sent over.
type silent struct{ handle.Connection }

func (silent) Flush(bool) {}
