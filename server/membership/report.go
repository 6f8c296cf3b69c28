package membership

import (
	"context"
	"fmt"
	"math"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server/peerrpc"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
)

// Hosts send reports to the meta shard leader, and the leader proposes the reports.

// answerBoot records the start of a host's process.
func (m *Membership) answerBoot(ctx context.Context, from shard.HostID, b *protocol.HostBoot) []byte {
	domain, err := host.ParseDomain(string(b.Domain))
	incarnation, known := incarnationOf(b.Incarnation)
	if err != nil || !known || b.Level > math.MaxUint8 || shard.HostID(b.HostID) != from {
		return badCall(protocol.KindHostBoot, from, err)
	}
	boot := hosts.Boot{
		Host: from, Incarnation: incarnation, Start: hosts.Start{Number: b.StartNumber, Draw: b.StartNonce},
		Addresses: addresses(b.RaftAddress, b.ClientAddress, b.AdminAddress), Version: string(b.Version),
		Level: level.Level(b.Level), Domain: domain,
	}
	return m.proposeReport(ctx, protocol.KindHostBoot, &protocol.HostBootAnswer{},
		meta.NewCommand(&meta.HostBoot{Boot: boot}, m.Set.Origin(m.nameOf(from), "")))
}

var savePhases = map[protocol.HostEvent]meta.SavePhase{
	protocol.HostBackupStarted: meta.SaveBegun, protocol.HostBackupSaved: meta.SaveDone,
	protocol.HostBackupFailed: meta.SaveGivenUp, protocol.HostBackupContinues: meta.SaveGoesOn,
}

// reportsAtOnce is the maximum number of concurrent command reports per host. Further reports are dropped, and
// repeated later like all lost reports.
const reportsAtOnce = 32

// ReportCommands reports commands to the meta shard leader. ReportCommands has the signature of
// replica.Config.Report.
func (m *Membership) ReportCommands(commands []byte) {
	select {
	case m.reports <- struct{}{}:
	default:
		return
	}
	m.Go(func(ctx context.Context) {
		defer func() { <-m.reports }()
		ctx, cancel := context.WithTimeout(ctx, askWithin)
		defer cancel()
		err := m.Report(ctx, protocol.HostNotify{Event: protocol.HostUpkeep, Commands: commands})
		if err != nil {
			m.Log.Debug("a report to the meta shard was lost or rejected", "error", err)
		}
	})
}

// answerReport records a host's other reports.
func (m *Membership) answerReport(ctx context.Context, from shard.HostID, say *protocol.HostNotify) []byte {
	incarnation, known := incarnationOf(say.Incarnation)
	start, by, why := hosts.Start{Number: say.StartNumber, Draw: say.StartNonce}, m.nameOf(from), ""
	var r meta.Request
	switch say.Event {
	case protocol.HostUpkeep:
		commands, err := m.Set.Meta.Reported(from, incarnation, say.Commands)
		if err != nil || shard.HostID(say.HostID) != from {
			return badCall(protocol.KindHostNotify, from, err)
		}
		return m.proposeReport(ctx, protocol.KindHostNotify, &protocol.HostNotifyAnswer{}, commands...)
	case protocol.HostStopping:
		r = &meta.HostShutdown{Host: from, Incarnation: incarnation, Start: start}
	case protocol.HostReturned:
		r = &meta.HostReturn{Host: from, Incarnation: incarnation, Epoch: say.Epoch}
	case protocol.HostBackupStarted, protocol.HostBackupContinues, protocol.HostBackupSaved, protocol.HostBackupFailed:
		r = &meta.BackupNote{Host: from, Incarnation: incarnation, Shard: meta.ShardID(say.ShardID),
			Phase: savePhases[say.Event], Bytes: say.Bytes}
		by = string(say.Asked.Author)
	case protocol.HostAuditNote:
		r = &meta.ActNote{Host: from, Incarnation: incarnation, What: string(say.Asked.Operation)}
		by, why = string(say.Asked.Author), string(say.Asked.Reason)
	case protocol.HostAddressChanged:
		r = &meta.HostRename{Host: from, Incarnation: incarnation, Start: start,
			Addresses: addresses(say.RaftAddress, say.ClientAddress, say.AdminAddress)}
	}
	if r == nil || !known || shard.HostID(say.HostID) != from {
		return badCall(protocol.KindHostNotify, from, fmt.Errorf("the report has status %v", say.Event))
	}
	return m.proposeReport(ctx, protocol.KindHostNotify, &protocol.HostNotifyAnswer{},
		meta.NewCommand(r, m.Set.Origin(by, why)))
}

func incarnationOf(b []byte) (i hosts.Incarnation, ok bool) {
	ok = copy(i[:], b) == len(i)
	return i, ok
}

func addresses(raft, client, admin []byte) hosts.Addresses {
	return hosts.Addresses{Raft: string(raft), Client: string(client), Admin: string(admin)}
}

// badCall refuses an invalid report, or a report about a different host.
func badCall(kind protocol.Kind, from shard.HostID, why error) []byte {
	text := fmt.Sprintf("host %d sent an invalid report, or a report for another host", from)
	if why != nil {
		text += ": " + why.Error()
	}
	return peerrpc.Failure(kind, protocol.Result{Status: protocol.StatusBadRequest, Message: text})
}

// proposeReport proposes a host's report, and encodes the outcome.
func (m *Membership) proposeReport(ctx context.Context, kind protocol.Kind, success protocol.AnswerMessage,
	commands ...meta.Command) []byte {
	e, err := m.Set.Meta.DoAll(ctx, commands...)
	switch {
	case err != nil:
		return peerrpc.Failure(kind, protocol.Result{Status: protocol.StatusUnavailable, Message: err.Error()})
	case e.Status != protocol.StatusSuccess:
		return peerrpc.Failure(kind, protocol.Result{Status: e.Status, Message: e.Message})
	}
	return peerrpc.Answer(success)
}
