package meta

import (
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/internal/form"
)

// SavePhase is how far the saving of a state for a backup has come.
type SavePhase uint8

// The phases.
const (
	SaveBegun   SavePhase = 1
	SaveDone    SavePhase = 2 // the client has all of it
	SaveGivenUp SavePhase = 3
)

// BackupNote writes down who saves the state of a shard for a backup, and what became of it. The one who saves it is
// the origin.
type BackupNote struct {
	Host        shard.HostID // from which it is saved
	Incarnation hosts.Incarnation
	Shard       ShardID
	Phase       SavePhase
	Bytes       uint64 // that were handed over
}

func (*BackupNote) kind() CommandKind { return CmdBackupNote }

func (bn *BackupNote) code(c *form.Coder) {
	c.Number((*uint64)(&bn.Host))
	fixed(c, bn.Incarnation[:])
	c.Number((*uint64)(&bn.Shard))
	octet(c, &bn.Phase)
	c.Number(&bn.Bytes)
}

func (bn *BackupNote) apply(m *Machine, at hosts.At) hosts.Answer {
	var what string
	switch bn.Phase {
	case SaveBegun:
		what = fmt.Sprintf("the state of shard %d is being saved", bn.Shard)
	case SaveDone:
		what = fmt.Sprintf("the state of shard %d was saved, %d bytes", bn.Shard, bn.Bytes)
	case SaveGivenUp:
		what = fmt.Sprintf("saving the state of shard %d was given up after %d bytes", bn.Shard, bn.Bytes)
	default:
		return refusal(protocol.StatusBadRequest, "a state is not saved up to phase %d", bn.Phase)
	}
	return m.topology.records.NoteBackup(at, bn.Host, bn.Incarnation, what)
}
