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

// deliveries are those of snapshots from this host to replicas elsewhere.
type deliveries struct {
	mu        sync.Mutex
	ofReplica map[raftio.NodeInfo]*delivery // guarded by mu
}

// delivery is what is delivered to one replica: one snapshot at a time.
type delivery struct {
	turn  chan struct{} // full while one is on its way
	users int           // guarded by deliveries.mu: those that wait for their turn, or have it
	// delivered is the index of the last snapshot that arrived whole, while there are users. Who has the turn writes
	// it.
	delivered uint64
}

// enter waits for the turn. Waited is false where it came at once.
func (d *deliveries) enter(ctx context.Context, to raftio.NodeInfo) (one *delivery, waited bool, err error) {
	d.mu.Lock()
	if d.ofReplica == nil {
		d.ofReplica = make(map[raftio.NodeInfo]*delivery)
	}
	if one = d.ofReplica[to]; one == nil {
		one = &delivery{turn: make(chan struct{}, 1)}
		d.ofReplica[to] = one
	}
	one.users++
	d.mu.Unlock()
	select {
	case one.turn <- struct{}{}:
		return one, false, nil
	default:
	}
	select {
	case one.turn <- struct{}{}:
		return one, true, nil
	case <-ctx.Done():
		d.forget(to, one)
		return nil, true, ctx.Err()
	}
}

// leave passes the turn on.
func (d *deliveries) leave(to raftio.NodeInfo, one *delivery) {
	<-one.turn
	d.forget(to, one)
}

func (d *deliveries) forget(to raftio.NodeInfo, one *delivery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(d.ofReplica, to)
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
	ctx      context.Context
	end      *engineEnd
	to       Target
	taken    *frameReader
	of       raftio.NodeInfo // the replica that it is for
	delivery *delivery       // nil: none
	arrived  bool            // what is to be sent has arrived already
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
	s.sender = newSender(s.ctx, d)
	s.taken = newFrameReader(d.conn, d.in, framesOfTaken)
	s.taken.silence = takeTimeout
	return nil
}

// Close ends the connection.
func (s *snapshotSender) Close() {
	s.sender.Close()
	s.leave()
}

func (s *snapshotSender) leave() {
	if s.delivery != nil {
		s.end.deliveries.leave(s.of, s.delivery)
		s.delivery = nil
	}
}

// begin waits until no other snapshot is on its way to the replica.
func (s *snapshotSender) begin(first *raftpb.Chunk) (err error) {
	var waited bool
	s.of = raftio.GetNodeInfo(first.ShardID, first.ReplicaID)
	if s.delivery, waited, err = s.end.deliveries.enter(s.ctx, s.of); err != nil || !waited {
		return err
	}
	if s.arrived = s.delivery.delivered == first.Index; s.arrived {
		return nil
	}
	s.sender.Close() // the other host may have given it up meanwhile
	return s.dial()
}

// SendChunk sends a chunk, and returns when the other host has handled it.
func (s *snapshotSender) SendChunk(chunk raftpb.Chunk) error {
	if s.delivery == nil {
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
		s.delivery.delivered = chunk.Index
	}
	return nil
}
