// Package backup has the handlers of requests that read backups. A client reads a backup shard by shard from the
// leaders. A state is fixed in next to no time and saved beside applying, like a snapshot. The old form of everything
// that changes meanwhile is set aside, so a state is given up when its client stops reading.
package backup

import (
	"log/slog"
	"sync"

	"github.com/signalbox/signalbox/internal/throttle"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/replica"
)

// Config is what backups need of their host.
type Config struct {
	*handle.Host
	// Note adds an entry to the history of the cluster, unless there is no history yet.
	Note func(m protocol.HostNotify) error
	Log  *slog.Logger
}

// Backups are the states that clients read, over all connections.
type Backups struct {
	Config
	places chan struct{} // has a place for each state under way
	saved  savedStates

	mu     sync.Mutex // guards the fields below
	states map[handle.Connection]map[uint64]*export
	last   uint64 // the number of the latest state
}

// New returns no states.
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
		return &protocol.BackupDescribeAnswer{
			ClusterID: []byte(b.Cluster), Shards: uint64(len(m.Routing().Shards)), Level: uint64(m.Level()),
			HostVersion: []byte(b.Version),
			Generation:  protocol.Generation{Number: g.Number, Nonce: g.Draw[:]},
		}, nil
	}), nil
}

// begin fixes the state of a shard behind a barrier, so that the state has everything that was acknowledged before.
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

// read has the next piece of a state answered once it is there.
func (b *Backups) read(r *handle.Request) (handle.Reply, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.states[r.Conn][r.BackupRead.StateID]
	if s == nil {
		return nil, noState
	}
	select {
	case s.asked <- r.Ticket():
		return handle.Later(func(handle.Ticket) {}), nil // the state has the ticket
	default:
		return nil, handle.BadRequest("another piece of this state is being waited for")
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

// add gives a state its number, unless the connection is closed.
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

// end gives up a state, if it is there.
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

// Gone gives up the states of a closed connection.
func (b *Backups) Gone(c handle.Connection) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.states[c] {
		close(s.stop)
	}
	delete(b.states, c)
}
