package backup

import (
	"time"

	"github.com/signalbox/signalbox/internal/throttle"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/shard"
)

const (
	// MaxStates is how many states a host has fixed for backups at once.
	MaxStates = 4
	// patience is how long a state waits for the next request.
	patience = time.Minute
)

// noState answers a request about a state that does not exist, or no longer.
var noState error = &protocol.Result{
	Status: protocol.StatusNotFound, Message: "there is no state of this number over this connection, or not any more",
}

// export is one state of a shard for a client to read. A goroutine of its own saves the state, piece by piece.
type export struct {
	of      *Backups
	conn    handle.Connection
	shard   uint64
	id      uint64
	by      string // the client, as the history names it
	machine interface {
		PrepareSnapshot() (shard.Snapshot, error)
	}
	progress func() (term, index uint64)

	asked chan handle.Ticket // the request that waits for the next piece; sent to under the lock of the backups
	stop  chan struct{}      // closed under that lock, when the state has left its table
	piece []byte
	bytes uint64 // of the pieces that were handed over
	pace  *throttle.Pace
}

// start has the state fixed and saved by a goroutine of its own.
func (e *export) start() (handle.Reply, error) {
	select {
	case e.of.places <- struct{}{}:
	default:
		return nil, handle.Overloaded("this host has enough states fixed for backups")
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
	term, index := e.progress() // before: the state may have more
	if state, err := e.machine.PrepareSnapshot(); err != nil {
		t.Fail(handle.Refuse(protocol.StatusUnavailable, err.Error()))
	} else {
		t.Done(&protocol.BackupBeginAnswer{StateID: e.id, Term: term, Index: index}, nil)
		words := make(chan noted, 2)
		go e.keepNotes(words)
		words <- noted{what: protocol.HostBackupStarted}
		what := e.save(state)
		words <- noted{what, e.bytes}
		close(words)
	}
	e.of.end(e)
	select {
	case t := <-e.asked: // after the last piece, or of a state that was given up
		t.Fail(noState)
	default:
	}
}

// save hands a state over, and returns the outcome. If the state is given up, its client does not get the last piece,
// and the client's next request for a piece is refused.
func (e *export) save(state shard.Snapshot) protocol.HostEvent {
	defer state.Discard()
	e.pace.Work()
	if state.Save(e, e.stop) != nil || e.hand(true) != nil {
		return protocol.HostBackupFailed
	}
	e.of.saved.add(e.shard, time.Now())
	return protocol.HostBackupSaved
}

// Write implements io.Writer, for the snapshot that is being saved. It pauses, so that saving takes a small part of a
// processor, and waiters for the machine's lock go ahead.
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

// hand sends the piece, once the client asks for it.
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
