package transport

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/lni/dragonboat/v4/raftio"
	"github.com/lni/dragonboat/v4/raftpb"
)

// takeTimeout is how long the other host has for a chunk that was written, 2 MiB at most, some of which may still be
// on its way.
const takeTimeout = 30 * time.Second

// confirmChunk answers a chunk.
func confirmChunk(conn net.Conn, mac *frameMAC) error {
	if err := conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	return writeFrame(conn, mac, frameTaken, nil)
}

// lanes are the replicas elsewhere that this host sends snapshots to.
type lanes struct {
	mu        sync.Mutex
	ofReplica map[raftio.NodeInfo]*lane // guarded by mu
}

// lane has room for one snapshot on its way to a replica.
type lane struct {
	turn  chan struct{} // full while one is on its way
	users int           // guarded by lanes.mu: those that wait for their turn, or have it
	// delivered is the index of the last snapshot that arrived whole, while the lane is in use. Who has the turn writes
	// it.
	delivered uint64
}

// enter waits for the turn. Waited is false where it came at once.
func (l *lanes) enter(ctx context.Context, to raftio.NodeInfo) (one *lane, waited bool, err error) {
	l.mu.Lock()
	if l.ofReplica == nil {
		l.ofReplica = make(map[raftio.NodeInfo]*lane)
	}
	if one = l.ofReplica[to]; one == nil {
		one = &lane{turn: make(chan struct{}, 1)}
		l.ofReplica[to] = one
	}
	one.users++
	l.mu.Unlock()
	select {
	case one.turn <- struct{}{}:
		return one, false, nil
	default:
	}
	select {
	case one.turn <- struct{}{}:
		return one, true, nil
	case <-ctx.Done():
		l.forget(to, one)
		return nil, true, ctx.Err()
	}
}

// leave passes the turn on.
func (l *lanes) leave(to raftio.NodeInfo, one *lane) {
	<-one.turn
	l.forget(to, one)
}

func (l *lanes) forget(to raftio.NodeInfo, one *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(l.ofReplica, to)
	}
}

// snapshotSender is this host's end of a connection that it dialled to send a snapshot. The engine uses it from one
// goroutine.
//
// The engine takes a snapshot for delivered when its last chunk is written, and where it is not there yet it sends it
// again, on another connection, whose first chunk makes the receiver drop what it has of it. It may also send one twice
// because it counts who has got the snapshot before. Each would then end the other, again and again. So a chunk is sent
// when the one before it was handled by the other host, and a snapshot when no other one is on its way to that
// replica. One that has arrived while it waited is not sent again.
type snapshotSender struct {
	*sender
	ctx     context.Context
	end     *engineEnd
	to      Target
	stop    func() bool // ends the watch of ctx
	taken   *frameReader
	of      raftio.NodeInfo // the replica whose lane it is in
	lane    *lane           // nil: in none
	arrived bool            // what is to be sent has arrived already
}

// GetSnapshotConnection dials another host to send it a snapshot.
func (e *engineEnd) GetSnapshotConnection(ctx context.Context, target string) (raftio.ISnapshotConnection, error) {
	to, err := ParseTarget(target)
	if err != nil {
		return nil, err
	}
	s := &snapshotSender{ctx: ctx, end: e, to: to}
	if err := s.dial(); err != nil {
		return nil, err
	}
	return s, nil
}

// dial opens the connection, which ends with the engine's context.
func (s *snapshotSender) dial() error {
	d, err := s.end.dialTarget(s.ctx, s.to)
	if err != nil {
		return err
	}
	s.sender, s.stop = &sender{dialled: d}, context.AfterFunc(s.ctx, d.close)
	s.taken = newFrameReader(d.conn, d.in, framesOfTaken)
	s.taken.silence = takeTimeout
	return nil
}

func (s *snapshotSender) hangUp() {
	s.stop()
	s.sender.Close()
}

// Close ends the connection.
func (s *snapshotSender) Close() {
	s.hangUp()
	s.leave()
}

func (s *snapshotSender) leave() {
	if s.lane != nil {
		s.end.lanes.leave(s.of, s.lane)
		s.lane = nil
	}
}

// begin waits until no other snapshot is on its way to the replica.
func (s *snapshotSender) begin(first *raftpb.Chunk) (err error) {
	var waited bool
	s.of = raftio.GetNodeInfo(first.ShardID, first.ReplicaID)
	if s.lane, waited, err = s.end.lanes.enter(s.ctx, s.of); err != nil || !waited {
		return err
	}
	if s.arrived = s.lane.delivered == first.Index; s.arrived {
		return nil
	}
	s.hangUp() // the other host may have given it up meanwhile
	return s.dial()
}

// SendChunk sends a chunk, and returns when the other host has handled it.
func (s *snapshotSender) SendChunk(chunk raftpb.Chunk) error {
	if s.lane == nil {
		if err := s.begin(&chunk); err != nil {
			return err
		}
	}
	if s.arrived {
		return nil
	}
	if err := s.send(frameChunk, chunk.Size(), chunk.MarshalTo); err != nil {
		return err
	}
	if _, _, err := s.taken.next(); err != nil {
		return err
	}
	s.end.replicas.Sent(s.to.Host, &chunk)
	if chunk.IsLastChunk() {
		s.lane.delivered = chunk.Index
	}
	return nil
}
