package backup

import (
	"time"

	"github.com/signalbox/signalbox/internal/throttle"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/shard"
)

const (
	// MaxStates is the maximum number of concurrent backup states per host.
	MaxStates = 4
	// patience is how long a state waits for the next request.
	patience = time.Minute
)

// noState answers a request for a state that does not exist, or no longer exists.
var noState error = &protocol.Result{
	Status: protocol.StatusNotFound, Message: "the state number does not exist on the connection, or not any more",
}

// export is one shard state a client reads. A separate goroutine saves the state, piece by piece.
type export struct {
	of      *Backups
	conn    handle.Connection
	shard   uint64
	id      uint64
	by      string // the client, as named in the audit log
	machine interface {
		PrepareSnapshot() (shard.Snapshot, error)
	}
	progress func() (term, index uint64)

	asked chan handle.Ticket // the request that waits for the next piece; sent to while the Backups lock is held
	stop  chan struct{}      // closed while the Backups lock is held, after the state was removed from its table
	piece []byte
	bytes uint64 // bytes handed over
	pace  *throttle.Pace
}

// start fixes the state, and starts a goroutine that saves it.
func (e *export) start() (handle.Reply, error) {
	select {
	case e.of.places <- struct{}{}:
	default:
		return nil, handle.Overloaded("the host already holds the maximum number of states for backups")
	}
	if !e.of.add(e) {
		<-e.of.places
		return nil, noState
	}
	return handle.Later(func(t handle.Ticket) {
		go func() {
			defer func() { <-e.of.places }()
			e.run(t)
		}()
	}), nil
}

func (e *export) run(t handle.Ticket) {
	e.note(protocol.HostBackupStarted)
	e.awaitMoves()
	term, index := e.progress() // read first: the state may include later entries
	outcome, end := protocol.HostBackupFailed, make(chan protocol.HostEvent, 1)
	go e.keepNotes(end)
	if state, err := e.machine.PrepareSnapshot(); err != nil {
		t.Fail(handle.Refuse(protocol.StatusUnavailable, err.Error()))
	} else {
		t.Done(&protocol.BackupBeginAnswer{StateID: e.id, Term: term, Index: index,
			Slots: slotsIn(state, e.shard)}, nil)
		outcome = e.save(state)
	}
	end <- outcome
	e.of.end(e)
	select {
	case t := <-e.asked: // after the last piece, or after the state was given up
		t.Fail(noState)
	default:
	}
}

// save hands a state over and returns the outcome. If the state is given up, the client does not receive the last
// piece, and its next request for a piece is refused.
func (e *export) save(state shard.Snapshot) protocol.HostEvent {
	defer state.Discard()
	e.pace.Work()
	if state.Save(e, e.stop) != nil || e.hand(true) != nil {
		return protocol.HostBackupFailed
	}
	e.of.saved.add(e.shard, time.Now())
	return protocol.HostBackupSaved
}

// Write implements io.Writer for the snapshot being saved. Write pauses, so that saving uses only a small share of a
// processor, and goroutines that wait for the machine's lock go first.
func (e *export) Write(p []byte) (n int, err error) {
	if !e.pace.Pause(e.stop) {
		return 0, shard.ErrSnapshotStopped
	}
	defer e.pace.Work()
	for n < len(p) {
		if len(e.piece) == protocol.PageBytes {
			if err := e.hand(false); err != nil {
				return n, err
			}
		}
		part := p[n:min(len(p), n+protocol.PageBytes-len(e.piece))]
		e.piece = append(e.piece, part...)
		n += len(part)
	}
	return n, nil
}

// hand sends the piece after the client asks for it.
func (e *export) hand(done bool) error {
	select {
	case t := <-e.asked:
		t.Done(&protocol.BackupReadAnswer{Piece: e.piece, Done: done}, nil)
		e.bytes += uint64(len(e.piece))
		e.piece = e.piece[:0]
		return nil
	case <-time.After(patience):
	case <-e.stop:
	}
	return shard.ErrSnapshotStopped
}
