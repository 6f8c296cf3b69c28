// Package backup implements the handlers for backup reads. A client reads a backup shard by shard from the leaders. A
// state is fixed almost instantly, and saved concurrently with applying, like a snapshot. Until the state is saved,
// the machine keeps the old value of every later change, so the host gives up a state if its client stops reading.
package backup

import (
	"log/slog"
	"sync"

	"github.com/signalbox/signalbox/internal/throttle"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/replica"
)

// Config contains the dependencies on the host.
type Config struct {
	*handle.Host
	// Note adds an entry to the cluster's audit log, if there is one.
	Note func(m protocol.HostNotify) error
	Log  *slog.Logger
}

// Backups are the states clients read, over all connections.
type Backups struct {
	Config
	places chan struct{} // has a slot for every state in progress
	saved  savedStates

	mu     sync.Mutex // guards the fields below
	states map[handle.Connection]map[uint64]*export
	last   uint64 // the latest state's number
}

// New returns empty Backups.
func New(c Config) *Backups {
	return &Backups{Config: c, places: make(chan struct{}, MaxStates),
		states: make(map[handle.Connection]map[uint64]*export)}
}

// Handlers returns the handlers.
func (b *Backups) Handlers() handle.Table {
	return handle.Table{
		protocol.KindBackupDescribe: handle.Authorized(handle.Everywhere, b.describe),
		protocol.KindBackupBegin:    handle.Authorized(handle.Everywhere, b.begin),
		protocol.KindBackupRead:     handle.Authorized(handle.Everywhere, b.read),
		protocol.KindBackupEnd:      handle.Authorized(handle.Everywhere, b.stop),
	}
}

func (b *Backups) describe(*handle.Request) (handle.Reply, error) {
	return b.ConfirmMeta(func() (handle.Reply, error) {
		m := b.Meta.Machine
		g := m.Generation()
		a := &protocol.BackupDescribeAnswer{
			ClusterID: []byte(b.Cluster), Level: uint64(m.Level()), HostVersion: []byte(b.Version),
			Generation: protocol.Generation{Number: g.Number, Nonce: g.Draw[:]},
		}
		for _, id := range m.ShardsWithSlots() {
			a.ShardIDs.Append(protocol.ShardID(id))
		}
		return a, nil
	}), nil
}

// begin fixes a shard's state after a barrier, so that the state includes everything acknowledged before.
func (b *Backups) begin(r *handle.Request) (handle.Reply, error) {
	s := &export{
		of: b, conn: r.Conn, shard: r.BackupBegin.ShardID, by: b.Origin(r, &protocol.Operation{}).By,
		asked: make(chan handle.Ticket, 1), stop: make(chan struct{}), pace: throttle.New(b.Metrics.Commands, nil),
	}
	if s.shard == replica.MetaShard {
		if err := b.LeadsMeta(); err != nil {
			return nil, err
		}
		s.machine = b.Meta.Machine
		s.progress = func() (uint64, uint64) { return b.Meta.Leader().Term, b.Meta.AppliedIndex() }
		return b.ConfirmMeta(s.start), nil
	}
	rp, err := b.ShardToList(s.shard)
	switch {
	case err != nil:
		return nil, err
	case !rp.Leads():
		return nil, b.Moved(rp)
	}
	s.machine, s.progress = rp.Machine, func() (uint64, uint64) { return rp.Leader().Term, rp.AppliedIndex() }
	return b.ConfirmLed(rp, s.start), nil
}

// read answers with the next piece of a state when the piece is available.
func (b *Backups) read(r *handle.Request) (handle.Reply, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.states[r.Conn][r.BackupRead.StateID]
	if s == nil {
		return nil, noState
	}
	select {
	case s.asked <- r.Ticket():
		return handle.Later(func(handle.Ticket) {}), nil // the state holds the ticket
	default:
		return nil, handle.BadRequest("another chunk of the state is already requested")
	}
}

func (b *Backups) stop(r *handle.Request) (handle.Reply, error) {
	b.mu.Lock()
	s := b.states[r.Conn][r.BackupEnd.StateID]
	b.mu.Unlock()
	if s != nil {
		b.end(s)
	}
	return &protocol.BackupEndAnswer{}, nil
}

// add assigns a state its number, unless the connection is closed.
func (b *Backups) add(s *export) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.conn.Gone() {
		return false
	}
	if b.states[s.conn] == nil {
		b.states[s.conn] = make(map[uint64]*export)
	}
	b.last++
	s.id = b.last
	b.states[s.conn][s.id] = s
	return true
}

// end removes a state, if present.
func (b *Backups) end(s *export) {
	b.mu.Lock()
	defer b.mu.Unlock()
	of := b.states[s.conn]
	if of[s.id] != s {
		return
	}
	close(s.stop)
	if delete(of, s.id); len(of) == 0 {
		delete(b.states, s.conn)
	}
}

// Gone removes the states of a closed connection.
func (b *Backups) Gone(c handle.Connection) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.states[c] {
		close(s.stop)
	}
	delete(b.states, c)
}
