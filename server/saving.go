package server

import (
	"time"

	"github.com/signalbox/signalbox/internal/pace"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
)

// A client reads a backup shard by shard from the leaders. A state is fixed in next to no time and saved beside
// applying, like a snapshot. The old form of everything that changes meanwhile is set aside, so a state is given up
// when its client stops reading.

const (
	// maxSavings is how many states a host has fixed for backups at once.
	maxSavings = 4
	// savingPatience is how long a state waits for the next request.
	savingPatience = time.Minute
)

// noState answers a request about a state that does not exist, or no longer.
var noState = protocol.Result{
	Status: protocol.StatusNotFound, Message: "there is no state of this number over this connection, or not any more",
}

// saving is one state of a shard for a client to read. A goroutine of its own saves the state, piece by piece.
type saving struct {
	c       *conn
	shard   uint64
	id      uint64
	kind    protocol.Kind // of the request that began the saving
	request uint64
	by      string // the client, as the history names it
	machine interface {
		PrepareSnapshot() (shard.Snapshot, error)
	}
	progress func() (term, index uint64)

	asked chan uint64   // the request that waits for the next piece; sent to under the connection's lock
	stop  chan struct{} // closed under the connection's lock, when the state has left its table
	piece []byte
	bytes uint64 // of the pieces that were handed over
	pace  *pace.Pace
}

func (c *conn) backupDescribe(r *protocol.Request) {
	id := r.ID
	c.confirmMeta(r, func() {
		m := c.host.meta.Machine
		g := m.Generation()
		a := &protocol.BackupDescribeAnswer{
			ClusterID: []byte(c.host.config.Cluster), Shards: uint64(len(m.Routing().Shards)), Level: uint64(m.Level()),
			HostVersion: []byte(c.host.config.Version),
			Generation:  protocol.Generation{Number: g.Number, Draw: g.Draw[:]},
		}
		c.Answer(id, a)
	})
}

// backupBegin fixes the state of a shard behind a barrier, so that the state has everything that was acknowledged
// before.
func (c *conn) backupBegin(r *protocol.Request) {
	s := &saving{
		c: c, shard: r.BackupBegin.ShardID, kind: r.Kind, request: r.ID, by: c.origin(&protocol.Operation{}).By,
		asked: make(chan uint64, 1), stop: make(chan struct{}), pace: pace.New(c.host.metrics.Commands, nil),
	}
	if r.BackupBegin.ShardID == replica.MetaShard {
		s.beginMeta(r)
	} else if rp := c.shardToList(r, r.BackupBegin.ShardID); rp != nil {
		s.begin(r, rp)
	}
}

func (s *saving) beginMeta(r *protocol.Request) {
	c, m := s.c, s.c.host.meta
	if !c.leadsMeta(r) {
		return
	}
	s.machine, s.progress = m.Machine, func() (uint64, uint64) { return m.Leader().Term, m.AppliedIndex() }
	c.confirmMeta(r, s.start)
}

func (s *saving) begin(r *protocol.Request, rp *replica.Replica) {
	c := s.c
	if !rp.Leads() {
		c.moved(r.ID, r.Kind, rp)
		return
	}
	s.machine, s.progress = rp.Machine, func() (uint64, uint64) { return rp.Leader().Term, rp.AppliedIndex() }
	c.confirmLed(r.ID, r.Kind, rp, s.start)
}

// start has the state fixed and saved by a goroutine of its own.
func (s *saving) start() {
	c := s.c
	select {
	case c.host.saving <- struct{}{}:
	default:
		c.overloaded(s.request, s.kind, "this host has enough states fixed for backups")
		return
	}
	if !c.addSaving(s) {
		<-c.host.saving
		c.Fail(s.request, s.kind, &noState)
		return
	}
	go func() {
		defer func() { <-c.host.saving }()
		s.run()
	}()
}

// addSaving gives a state its number, unless the connection is closed.
func (c *conn) addSaving(s *saving) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	if c.savings == nil {
		c.savings = make(map[uint64]*saving)
	}
	c.lastSaving++
	s.id = c.lastSaving
	c.savings[s.id] = s
	return true
}

// endSavings gives up the listed states of the connection. The lock is held.
func (c *conn) endSavings(list ...*saving) {
	for _, s := range list {
		if c.savings[s.id] == s {
			delete(c.savings, s.id)
			close(s.stop)
		}
	}
}

func (s *saving) run() {
	c := s.c
	term, index := s.progress() // before: the state may have more
	if state, err := s.machine.PrepareSnapshot(); err != nil {
		c.Fail(s.request, s.kind, &protocol.Result{Status: protocol.StatusUnavailable, Message: clip(err.Error())})
	} else {
		c.Answer(s.request, &protocol.BackupBeginAnswer{StateID: s.id, Term: term, Index: index})
		c.flush()
		words := make(chan noted, 2)
		go s.keepNotes(words)
		words <- noted{what: protocol.HostSaves}
		what := s.save(state)
		words <- noted{what, s.bytes}
		close(words)
	}
	c.mu.Lock()
	c.endSavings(s)
	c.mu.Unlock()
	select {
	case id := <-s.asked: // after the last piece, or of a state that was given up
		c.Fail(id, protocol.KindBackupRead, &noState)
	default:
	}
	c.flush()
}

// save hands a state over, and returns the outcome. If the state is given up, its client does not get the last piece,
// and the client's next request for a piece is refused.
func (s *saving) save(state shard.Snapshot) protocol.HostWord {
	defer state.Discard()
	s.pace.Work()
	if state.Save(s, s.stop) != nil || s.hand(true) != nil {
		return protocol.HostGaveUp
	}
	s.c.host.saved.add(s.shard, time.Now())
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
	case id := <-s.asked:
		s.c.Answer(id, &protocol.BackupReadAnswer{Piece: s.piece, Done: done})
		s.c.flush()
		s.bytes += uint64(len(s.piece))
		s.piece = s.piece[:0]
		return nil
	case <-time.After(savingPatience):
	case <-s.stop:
	}
	return shard.ErrSnapshotStopped
}

func (c *conn) backupRead(r *protocol.Request) {
	c.mu.Lock()
	s := c.savings[r.BackupRead.StateID]
	taken := false
	if s != nil {
		select {
		case s.asked <- r.ID:
			taken = true
		default:
		}
	}
	c.mu.Unlock()
	switch {
	case s == nil:
		c.Fail(r.ID, r.Kind, &noState)
	case !taken:
		c.failure(r, protocol.StatusBadRequest, "another piece of this state is being waited for")
	}
}

func (c *conn) backupEnd(r *protocol.Request) {
	c.mu.Lock()
	if s := c.savings[r.BackupEnd.StateID]; s != nil {
		c.endSavings(s)
	}
	c.mu.Unlock()
	c.Answer(r.ID, &protocol.BackupEndAnswer{})
}
