package admin

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/backupfile"
	"github.com/signalbox/signalbox/protocol/level"
)

// OpBackup is the operation kind that hooks report for a backup.
const OpBackup client.OperationKind = "save_backup"

// maxGivenUp is how often a backup begins a lost shard again.
const maxGivenUp = 20

// Backup is a backup's progress or result.
type Backup struct {
	Cluster    string
	Generation uint64
	// Begun is the time of the first snapshot. The backup includes every change acknowledged earlier.
	Begun time.Time
	// Shards is the number of data shards that have slots. Saved counts the shards written so far, including the meta
	// shard. Bytes is the total size of their snapshots.
	Shards, Saved int
	Bytes         int64
	// Again counts snapshots that were restarted because the host failed or lost leadership, or because a slot had
	// moved to the shard.
	Again int
}

// Backup writes snapshots of all shards to w, while the shards keep serving requests. Backup calls progress
// periodically and at the end; progress may be nil. The written data is usable only if Backup returns without an error.
// The client's token needs the backup right for the path /.
//
// Backup saves data shards first and the meta shard last. Each snapshot includes every change that was acknowledged
// before the shard's turn. If a shard's leader is lost meanwhile, Backup restarts that shard with the new leader. No
// slot begins to move while a backup is saved. If the snapshots still lack a slot, because it moved between two of
// them, Backup saves the shard with the slot again, three times at most.
func (a *Admin) Backup(ctx context.Context, w io.Writer, progress func(Backup)) (Backup, error) {
	s := saver{a: a, progress: progress, slots: make(map[uint64][]protocol.SlotRange)}
	err := a.core.Do(ctx, string(OpBackup), "", func(ctx context.Context) error { return s.save(ctx, w) })
	return s.done, failed(OpBackup, "", err)
}

// saver saves one backup.
type saver struct {
	a        *Admin
	file     *backupfile.Writer
	done     Backup
	progress func(Backup)
	piece    []byte
	slots    map[uint64][]protocol.SlotRange // of the shards saved so far
}

func (s *saver) save(ctx context.Context, w io.Writer) (err error) {
	header, shards, err := s.describe(ctx)
	if err != nil {
		return err
	}
	if s.file, err = backupfile.NewWriter(w, header); err != nil {
		return err
	}
	// A restore omits objects whose node is missing from the meta shard: a node created meanwhile is empty after the
	// restore, and a node dropped meanwhile takes its objects along.
	for _, id := range shards {
		if err := s.shard(ctx, id, cluster.ShardLeader(id)); err != nil {
			return err
		}
	}
	if err := s.complete(ctx); err != nil {
		return err
	}
	if err := s.shard(ctx, 0, cluster.MetaLeader); err != nil {
		return err
	}
	return s.file.Close()
}

// describe returns the file's header and the data shards to save.
func (s *saver) describe(ctx context.Context) (h backupfile.Header, shards []uint64, err error) {
	err = s.a.core.Cluster().Do(ctx, cluster.AnyHost, &protocol.BackupDescribe{}, func(a *protocol.Answer) {
		m := &a.BackupDescribe
		for id := range m.ShardIDs.All() {
			shards = append(shards, uint64(id))
		}
		h = backupfile.Header{Cluster: string(m.ClusterID), Shards: len(shards), Level: level.Level(m.Level),
			Version: string(m.HostVersion)}
		copy(h.Generation[:], m.Generation.Nonce)
		s.done = Backup{Cluster: h.Cluster, Generation: m.Generation.Number, Shards: h.Shards}
	})
	h.Begun = time.Now().UTC()
	s.done.Begun = h.Begun
	return h, shards, err
}

// shard saves one shard's snapshot.
func (s *saver) shard(ctx context.Context, id uint64, leader cluster.Target) error {
	var broken error // of the file
	begun := 0
	err := s.a.core.Cluster().Repeat(ctx, leader, func(to *conn.Conn) error {
		var state protocol.BackupBeginAnswer
		err := to.RoundTrip(ctx, &protocol.BackupBegin{ShardID: id}, func(a *protocol.Answer) {
			state = a.BackupBegin
			s.slots[id] = slices.Collect(a.BackupBegin.Slots.All())
		})
		if err != nil {
			return err
		}
		if begun++; begun > 1 {
			s.done.Again++
		}
		of := backupfile.Section{Shard: id, Term: state.Term, Index: state.Index}
		err, broken = s.section(ctx, to, of, state.StateID)
		if err != nil && begun > maxGivenUp {
			broken = fmt.Errorf("shard %d was lost %d times during the backup: %w", id, begun, err)
		}
		if broken != nil {
			return nil
		}
		return err
	})
	if broken != nil {
		return broken
	}
	return err
}

// section copies a snapshot to the file. lost is the reason if the snapshot could not be read completely; broken is a
// file error.
func (s *saver) section(ctx context.Context, from *conn.Conn, of backupfile.Section, state uint64,
) (lost, broken error) {
	section, broken := s.file.Section(of)
	if broken != nil {
		return nil, broken
	}
	before := s.done.Bytes
	lost, broken = s.copy(ctx, from, section, state)
	switch {
	case broken != nil:
	case lost != nil:
		s.done.Bytes = before
		broken = section.GiveUp()
	default:
		s.done.Saved++
		s.report()
		return nil, section.Close()
	}
	// Without a BACKUP_END the host keeps the state until a minute has passed without a request.
	_, _ = from.Send(conn.Unheard{}, &protocol.BackupEnd{StateID: state})
	return lost, broken
}

// copy copies all chunks of a snapshot.
func (s *saver) copy(ctx context.Context, from *conn.Conn, to io.Writer, state uint64) (lost, broken error) {
	for done := false; !done; {
		lost := from.RoundTrip(ctx, &protocol.BackupRead{StateID: state}, func(a *protocol.Answer) {
			s.piece, done = append(s.piece[:0], a.BackupRead.Piece...), a.BackupRead.Done
		})
		if failure.Status(lost) == protocol.StatusNotFound {
			lost = &protocol.Error{Status: protocol.StatusUnavailable, Message: failure.Message(lost)}
		}
		if lost != nil {
			return lost, nil
		}
		n, broken := to.Write(s.piece)
		s.done.Bytes += int64(n)
		if broken != nil {
			return nil, broken
		}
		s.report()
	}
	return nil, nil
}

func (s *saver) report() {
	if s.progress != nil {
		s.progress(s.done)
	}
}
