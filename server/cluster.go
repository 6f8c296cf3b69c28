package server

import (
	"context"
	"errors"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/audit"
	"github.com/signalbox/signalbox/server/executor"
	"github.com/signalbox/signalbox/server/membership"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
)

// The host's knowledge about the cluster's hosts, and actions on them. *Host implements join.Cluster.

// ErrRefused is wrapped by the error that halts a host which is not in the cluster.
var ErrRefused = membership.ErrRefused

// Governor answers questions about changes among the hosts: see executor.Executor. Questions fail with
// executor.ErrNotGoverning if a remote host is the governor.
func (h *Host) Governor() *executor.Executor { return h.member.Executor }

// Answer executes a remote host's call: see membership.Membership.
func (h *Host) Answer(ctx context.Context, from shard.HostID, request []byte) ([]byte, error) {
	return h.member.Answer(ctx, from, request)
}

// NoteAct adds a client's change through a gateway to the cluster's audit log: see audit.History.
func (h *Host) NoteAct(ctx context.Context, a audit.Note) error { return h.history.Add(ctx, a) }

// Do executes a command about hosts, replicas or steps for an operator or a host, if the local host leads the meta
// shard. On an error, the command had no effect, or an unknown one; a refusal is in the result.
func (h *Host) Do(ctx context.Context, r meta.Request, by, why string) (meta.Effect, error) {
	return h.meta.Do(ctx, r, h.set.Origin(by, why))
}

// Open reports whether anonymous clients may do everything on the local host. They may if the cluster has no access
// rules, was not bootstrapped closed, and the host has neither an access file nor root tokens.
func (h *Host) Open() bool { return h.gate.Open(h.meta.Rights()) }

// importAgain is the interval at which a host checks whether it must import its access rules.
const importAgain = 50 * time.Millisecond

// importRules imports the access rules in the host's file into a cluster without rules, as soon as the host leads the
// meta shard. importRules returns when the cluster has rules, and warns if they differ from the file.
func (h *Host) importRules(ctx context.Context) {
	first, logged := h.config.AccessRules, ""
	for !h.meta.CaughtUp() || h.meta.Rights().Open() {
		if h.member.Bootstrapped() && h.meta.CaughtUp() && h.Leader() == h.config.ID {
			e, err := h.Do(ctx, first, "host "+h.config.Name, "the cluster has no access rules yet")
			if err == nil && e.Status != protocol.StatusSuccess {
				err = errors.New(e.Message)
			}
			if err != nil && ctx.Err() == nil && err.Error() != logged {
				logged = err.Error()
				h.log.Warn("the rules of the access file are not imported yet", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(importAgain):
		}
	}
	rights := h.meta.Rights()
	if would, err := rights.Import(first.Roles, first.Entries, 0, ""); err != nil || would != rights {
		h.log.Warn("the access file differs from the cluster's access rules, which are in force; apply the file " +
			"with signalbox access import")
	}
}

// Topology returns the cluster's hosts, their replicas and the steps, as far as the host knows. ok is false if the
// hosts have no records yet.
func (h *Host) Topology() (t meta.Topology, ok bool) { return h.meta.Machine.Topology() }

// Leader returns the meta shard leader, as far as known here; 0 means none.
func (h *Host) Leader() shard.HostID { return h.meta.Leader().Leader }

// Records returns the host records as applied here, with the shard time for a command proposed now. ok is false if
// the cluster has no records yet.
func (h *Host) Records() (records *hosts.Records, now uint64, ok bool) {
	t, now, ok := h.meta.Topology()
	return t.Records, now, ok
}

// Hears reports whether a host has answered the meta shard leader within the last two seconds.
func (h *Host) Hears(id shard.HostID) bool { return h.meta.Hears(id) }

// Join proposes a host for membership, and returns the answer after the command is applied here.
func (h *Host) Join(ctx context.Context, j hosts.Join) (hosts.Answer, error) {
	e, err := h.Do(ctx, &meta.HostJoin{Join: j}, "host "+j.Name, "")
	return hosts.Answer{Status: e.Status, Text: e.Message, Host: e.Host, Existed: e.Flags&meta.FlagExisted != 0}, err
}
