package server

import (
	"bytes"
	"context"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/handle/backup"
	"github.com/signalbox/signalbox/server/health/overview"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/shard/slots"
)

// Broadcast pushes a message to every client after its HELLO.
func (h *Host) Broadcast(m protocol.PushMessage) { h.conns.Push(false, m) }

// AboveLevel is the answer to a request above a shard's level.
func (h *Host) AboveLevel(needs level.Level) *protocol.Result { return h.aboveLevel(needs) }

// AfterBind calls f between binding a session to a connection and checking whether it is still alive.
func (h *Host) AfterBind(f func()) { h.set.AfterBind = f }

// EndApplied puts the session's home machine at this host into the state between the session's end and the report of
// the end.
func (h *Host) EndApplied(id shard.SessionID) {
	m := h.set.Home(id).Machine
	m.Apply(&shard.Batch{Stamp: clock.Stamp{Term: m.Term()},
		Commands: []shard.Command{{Kind: shard.CmdSessionEnd, Session: id}}}, &shard.Effects{})
}

// Label is a label value's form in /metrics.
var Label = label

// BootstrapHosts creates the records of all registered hosts, through the meta leader.
func (h *Host) BootstrapHosts() {
	r := &meta.HostsBootstrap{}
	for _, x := range h.meta.Machine.Hosts() {
		r.InitialMembers = append(r.InitialMembers, meta.InitialMember{ID: x.ID})
	}
	done := make(chan struct{})
	h.meta.Propose(meta.NewCommand(r, meta.Origin{}), func(*meta.Effect, protocol.Status) { close(done) })
	<-done
}

// GovernBy makes g answer questions about host changes.
func (h *Host) GovernBy(g overview.Governor) { h.governor = g }

// EnsureBootstrapped bootstraps the cluster's hosts, if not done yet and this host leads the meta shard.
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

// MetaLeader is the meta leader, as known by this host.
func (h *Host) MetaLeader() shard.HostID { return h.meta.Leader().Leader }

// ForgetNodes resets this host's meta replica to its state before being filled.
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

// HoldOpenings blocks the watch openings on all connections until release is called.
func (h *Host) HoldOpenings() (release func()) {
	held := make(chan struct{})
	h.opening.Add(silent{}, func() { <-held })
	return func() { close(held) }
}

// silent is a connection that discards everything.
type silent struct{ handle.Connection }

func (silent) Flush(bool) {}

// MoveSlot carries out a slot effect, as the governor asks for it.
func (h *Host) MoveSlot(ctx context.Context, e *protocol.StepExecute) (protocol.SlotOutcome, string, error) {
	return h.set.Slot(ctx, e)
}

// ShardSeats lists the data shards that the host knows, or has a replica of.
func (h *Host) ShardSeats() (ids []uint64) {
	for _, r := range h.set.All() {
		ids = append(ids, r.ID)
	}
	for _, held := range h.set.Held() {
		if id := uint64(held.Shard); id != 0 && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// SlotIn is a slot's record in the host's replica of a shard.
func (h *Host) SlotIn(id uint64, slot shard.Slot) slots.Slot {
	return h.set.Shard(id).Machine.Slot(slot)
}

// AwaitingSlots is the number of requests that wait for slots.
func (h *Host) AwaitingSlots() int { return h.set.AwaitingSlots() }

// DroppingNodes is the number of nodes that are being dropped, according to the host's meta replica.
func (h *Host) DroppingNodes() int {
	page, _ := h.meta.Machine.Dropping(0, 100)
	return len(page)
}
