package server

import (
	"context"
	"fmt"
	"math"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server/hostcall"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
)

// Reports of hosts go to the leader of the meta shard, and the leader proposes the reports.

// answerBoot records the start of a host's process.
func (h *Host) answerBoot(ctx context.Context, from shard.HostID, m *protocol.HostBoot) []byte {
	domain, err := host.ParseDomain(string(m.Domain))
	incarnation, known := incarnationOf(m.Incarnation)
	if err != nil || !known || m.Level > math.MaxUint8 || shard.HostID(m.HostID) != from {
		return badCall(protocol.KindHostBoot, from, err)
	}
	boot := hosts.Boot{
		Host: from, Incarnation: incarnation, Start: hosts.Start{Number: m.StartNumber, Draw: m.StartDraw},
		Addresses: addresses(m.RaftAddress, m.ClientAddress, m.AdminAddress), Version: string(m.Version),
		Level: level.Level(m.Level), Domain: domain,
	}
	return h.proposeSaid(ctx, h.set.Origin(h.nameOf(from), ""), protocol.KindHostBoot, &protocol.HostBootAnswer{},
		&meta.HostBoot{Boot: boot})
}

var savePhases = map[protocol.HostWord]meta.SavePhase{
	protocol.HostSaves: meta.SaveBegun, protocol.HostSaved: meta.SaveDone, protocol.HostGaveUp: meta.SaveGivenUp,
}

// answerSay records the further reports of a host.
func (h *Host) answerSay(ctx context.Context, from shard.HostID, m *protocol.HostSay) []byte {
	incarnation, known := incarnationOf(m.Incarnation)
	start, by, why := hosts.Start{Number: m.StartNumber, Draw: m.StartDraw}, h.nameOf(from), ""
	var r meta.Request
	switch m.What {
	case protocol.HostStops:
		r = &meta.HostShutdown{Host: from, Incarnation: incarnation, Start: start}
	case protocol.HostReturns:
		r = &meta.HostReturn{Host: from, Incarnation: incarnation, Epoch: m.Epoch}
	case protocol.HostSaves, protocol.HostSaved, protocol.HostGaveUp:
		r = &meta.BackupNote{Host: from, Incarnation: incarnation, Shard: meta.ShardID(m.ShardID),
			Phase: savePhases[m.What], Bytes: m.Bytes}
		by = string(m.Asked.By)
	case protocol.HostNotes:
		r = &meta.ActNote{Host: from, Incarnation: incarnation, What: string(m.Asked.What)}
		by, why = string(m.Asked.By), string(m.Asked.Reason)
	case protocol.HostMoves:
		r = &meta.HostRename{Host: from, Incarnation: incarnation, Start: start,
			Addresses: addresses(m.RaftAddress, m.ClientAddress, m.AdminAddress)}
	}
	if r == nil || !known || shard.HostID(m.HostID) != from {
		return badCall(protocol.KindHostSay, from, fmt.Errorf("it says %v", m.What))
	}
	return h.proposeSaid(ctx, h.set.Origin(by, why), protocol.KindHostSay, &protocol.HostSayAnswer{}, r)
}

func incarnationOf(b []byte) (i hosts.Incarnation, ok bool) {
	ok = copy(i[:], b) == len(i)
	return i, ok
}

func addresses(raft, client, admin []byte) hosts.Addresses {
	return hosts.Addresses{Raft: string(raft), Client: string(client), Admin: string(admin)}
}

// badCall refuses an impossible report, or a report about a different host.
func badCall(kind protocol.Kind, from shard.HostID, why error) []byte {
	text := fmt.Sprintf("host %d says what cannot be, or of another host", from)
	if why != nil {
		text += ": " + why.Error()
	}
	return hostcall.Failure(kind, protocol.Result{Status: protocol.StatusBadRequest, Message: text})
}

// proposeSaid proposes the report of a host, if the local host leads the meta shard, and encodes the outcome.
func (h *Host) proposeSaid(ctx context.Context, by meta.Origin, kind protocol.Kind, success protocol.AnswerMessage,
	r meta.Request) []byte {
	if l := h.meta.Leader(); l.Leader != h.config.ID {
		return hostcall.Failure(kind, protocol.Result{Status: protocol.StatusMoved,
			Moved: protocol.Moved{LeaderHostID: uint64(l.Leader)}})
	}
	e, err := h.meta.Do(ctx, r, by)
	switch {
	case err != nil:
		return hostcall.Failure(kind, protocol.Result{Status: protocol.StatusUnavailable, Message: err.Error()})
	case e.Status != protocol.StatusSuccess:
		return hostcall.Failure(kind, protocol.Result{Status: e.Status, Message: e.Message})
	}
	return hostcall.Answer(success)
}
