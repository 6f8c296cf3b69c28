package meta

import (
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// SavePhase is how far saving a state for a backup has progressed.
type SavePhase uint8

// The phases.
const (
	SaveBegun   SavePhase = 1
	SaveDone    SavePhase = 2 // the client has the whole state
	SaveGivenUp SavePhase = 3
	SaveGoesOn  SavePhase = 4 // the client still reads
)

// BackupNote reports that a client saves a shard's state for a backup, or the outcome. The client is the origin. The
// beginning and the outcome get an audit entry. Slot moves are held until the meta shard's state, the last in a backup,
// is saved, until a state is given up, or until the client is silent for too long.
type BackupNote struct {
	Host        shard.HostID // from which the client saves
	Incarnation hosts.Incarnation
	Shard       ShardID
	Phase       SavePhase
	Bytes       uint64 // sent so far
}

func (bn *BackupNote) code(c *codec.Coder) {
	codeAll(c, &bn.Host, &bn.Incarnation, &bn.Shard)
	codec.Small(c, &bn.Phase)
	c.Number(&bn.Bytes)
}

func (bn *BackupNote) apply(m *Machine, at hosts.At) hosts.Answer {
	var what string
	switch bn.Phase {
	case SaveBegun:
		what = fmt.Sprintf("the state of shard %d is being saved", bn.Shard)
	case SaveDone:
		what = fmt.Sprintf("the state of shard %d was saved, %d bytes", bn.Shard, bn.Bytes)
	case SaveGoesOn:
		return m.topology.records.HoldMoves(at, bn.Host, bn.Incarnation)
	case SaveGivenUp:
		what = fmt.Sprintf("saving the state of shard %d was given up after %d bytes", bn.Shard, bn.Bytes)
	default:
		return refusal(protocol.StatusBadRequest, "a state is not saved up to phase %d", bn.Phase)
	}
	r := m.topology.records
	a := r.NoteOf(at, hosts.EventBackup, bn.Host, bn.Incarnation, what)
	switch {
	case a.Status != protocol.StatusSuccess:
	case bn.Phase == SaveBegun:
		return r.HoldMoves(at, bn.Host, bn.Incarnation)
	case bn.Phase == SaveGivenUp || bn.Shard == 0:
		r.ReleaseMoves(at)
	}
	return a
}

// ActNote adds an audit entry for a change a client made through a host, with a reason. It is for changes that leave no
// other trace in the audit log. The origin has the author and the reason.
type ActNote struct {
	Host        shard.HostID
	Incarnation hosts.Incarnation
	What        string
}

func (an *ActNote) code(c *codec.Coder) { codeAll(c, &an.Host, &an.Incarnation, &an.What) }

func (an *ActNote) apply(m *Machine, at hosts.At) hosts.Answer {
	if an.What == "" || !codec.FitText(hosts.MaxText, an.What, at.Why) || at.Why == "" {
		return refusal(protocol.StatusBadRequest, "a change is noted by what it was and why, of at most %d bytes each",
			hosts.MaxText)
	}
	return m.topology.records.NoteOf(at, hosts.EventAct, an.Host, an.Incarnation, an.What)
}
