package membership

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
func (m *Membership) answerBoot(ctx context.Context, from shard.HostID, b *protocol.HostBoot) []byte {
	domain, err := host.ParseDomain(string(b.Domain))
	incarnation, known := incarnationOf(b.Incarnation)
	if err != nil || !known || b.Level > math.MaxUint8 || shard.HostID(b.HostID) != from {
		return badCall(protocol.KindHostBoot, from, err)
	}
	boot := hosts.Boot{
		Host: from, Incarnation: incarnation, Start: hosts.Start{Number: b.StartNumber, Draw: b.StartDraw},
		Addresses: addresses(b.RaftAddress, b.ClientAddress, b.AdminAddress), Version: string(b.Version),
		Level: level.Level(b.Level), Domain: domain,
	}
	return m.proposeReport(ctx, m.Set.Origin(m.nameOf(from), ""), protocol.KindHostBoot, &protocol.HostBootAnswer{},
		&meta.HostBoot{Boot: boot})
}

var savePhases = map[protocol.HostWord]meta.SavePhase{
	protocol.HostSaves: meta.SaveBegun, protocol.HostSaved: meta.SaveDone, protocol.HostGaveUp: meta.SaveGivenUp,
}

// answerReport records the further reports of a host.
func (m *Membership) answerReport(ctx context.Context, from shard.HostID, say *protocol.HostSay) []byte {
	incarnation, known := incarnationOf(say.Incarnation)
	start, by, why := hosts.Start{Number: say.StartNumber, Draw: say.StartDraw}, m.nameOf(from), ""
	var r meta.Request
	switch say.What {
	case protocol.HostStops:
		r = &meta.HostShutdown{Host: from, Incarnation: incarnation, Start: start}
	case protocol.HostReturns:
		r = &meta.HostReturn{Host: from, Incarnation: incarnation, Epoch: say.Epoch}
	case protocol.HostSaves, protocol.HostSaved, protocol.HostGaveUp:
		r = &meta.BackupNote{Host: from, Incarnation: incarnation, Shard: meta.ShardID(say.ShardID),
			Phase: savePhases[say.What], Bytes: say.Bytes}
		by = string(say.Asked.By)
	case protocol.HostNotes:
		r = &meta.ActNote{Host: from, Incarnation: incarnation, What: string(say.Asked.What)}
		by, why = string(say.Asked.By), string(say.Asked.Reason)
	case protocol.HostMoves:
		r = &meta.HostRename{Host: from, Incarnation: incarnation, Start: start,
			Addresses: addresses(say.RaftAddress, say.ClientAddress, say.AdminAddress)}
	}
	if r == nil || !known || shard.HostID(say.HostID) != from {
		return badCall(protocol.KindHostSay, from, fmt.Errorf("it says %v", say.What))
	}
	return m.proposeReport(ctx, m.Set.Origin(by, why), protocol.KindHostSay, &protocol.HostSayAnswer{}, r)
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

// proposeReport proposes the report of a host, if the local host leads the meta shard, and encodes the outcome.
func (m *Membership) proposeReport(ctx context.Context, by meta.Origin, kind protocol.Kind,
	success protocol.AnswerMessage, r meta.Request) []byte {
	if l := m.Set.Meta.Leader(); l.Leader != m.ID {
		return hostcall.Failure(kind, protocol.Result{Status: protocol.StatusMoved,
			Moved: protocol.Moved{LeaderHostID: uint64(l.Leader)}})
	}
	e, err := m.Set.Meta.Do(ctx, r, by)
	switch {
	case err != nil:
		return hostcall.Failure(kind, protocol.Result{Status: protocol.StatusUnavailable, Message: err.Error()})
	case e.Status != protocol.StatusSuccess:
		return hostcall.Failure(kind, protocol.Result{Status: e.Status, Message: e.Message})
	}
	return hostcall.Answer(success)
}
