package backup

import (
	"time"

	"github.com/signalbox/signalbox/internal/pace"
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

// saving is one state of a shard for a client to read. A goroutine of its own saves the state, piece by piece.
type saving struct {
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
	pace  *pace.Pace
}

// start has the state fixed and saved by a goroutine of its own.
func (s *saving) start() (handle.Reply, error) {
	select {
	case s.of.places <- struct{}{}:
	default:
		return nil, handle.Overloaded("this host has enough states fixed for backups")
	}
	if !s.of.add(s) {
		<-s.of.places
		return nil, noState
	}
	return handle.Later(func(t handle.Ticket) {
		go func() {
			defer func() { <-s.of.places }()
			s.run(t)
		}()
	}), nil
}

func (s *saving) run(t handle.Ticket) {
	term, index := s.progress() // before: the state may have more
	if state, err := s.machine.PrepareSnapshot(); err != nil {
		t.Fail(handle.Refuse(protocol.StatusUnavailable, err.Error()))
	} else {
		t.Done(&protocol.BackupBeginAnswer{StateID: s.id, Term: term, Index: index}, nil)
		words := make(chan noted, 2)
		go s.keepNotes(words)
		words <- noted{what: protocol.HostSaves}
		what := s.save(state)
		words <- noted{what, s.bytes}
		close(words)
	}
	s.of.end(s)
	select {
	case t := <-s.asked: // after the last piece, or of a state that was given up
		t.Fail(noState)
	default:
	}
}

// save hands a state over, and returns the outcome. If the state is given up, its client does not get the last piece,
// and the client's next request for a piece is refused.
func (s *saving) save(state shard.Snapshot) protocol.HostWord {
	defer state.Discard()
	s.pace.Work()
	if state.Save(s, s.stop) != nil || s.hand(true) != nil {
		return protocol.HostGaveUp
	}
	s.of.saved.add(s.shard, time.Now())
	return protocol.HostSaved
}

// Write implements io.Writer, for the snapshot that is being saved. It pauses, so that saving takes a small part of a
// processor, and waiters for the machine's lock go ahead.
func (s *saving) Write(p []byte) (n int, err error) {
	if !s.pace.Pause(s.stop) {
		return 0, shard.ErrSnapshotStopped
	}
	defer s.pace.Work()
	for n < len(p) {
		if len(s.piece) == protocol.PageBytes {
			if err := s.hand(false); err != nil {
				return n, err
			}
		}
		part := p[n:min(len(p), n+protocol.PageBytes-len(s.piece))]
		s.piece = append(s.piece, part...)
		n += len(part)
	}
	return n, nil
}

// hand sends the piece, once the client asks for it.
func (s *saving) hand(done bool) error {
	select {
	case t := <-s.asked:
		t.Done(&protocol.BackupReadAnswer{Piece: s.piece, Done: done}, nil)
		s.bytes += uint64(len(s.piece))
		s.piece = s.piece[:0]
		return nil
	case <-time.After(patience):
	case <-s.stop:
	}
	return shard.ErrSnapshotStopped
}
