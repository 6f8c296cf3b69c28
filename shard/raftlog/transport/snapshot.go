package transport

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/lni/dragonboat/v4/raftio"
	"github.com/lni/dragonboat/v4/raftpb"
)

// takeTimeout is how long the remote host may take for a chunk (at most 2 MiB) after the write, including bytes still
// in transit.
const takeTimeout = 30 * time.Second

// confirmChunk confirms a chunk.
func confirmChunk(conn net.Conn, mac *frameMAC) error {
	if err := conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	return writeFrame(conn, mac, frameTaken, nil)
}

// deliveries tracks snapshot deliveries from this host to remote replicas.
type deliveries struct {
	mu        sync.Mutex
	ofReplica map[raftio.NodeInfo]*delivery // guarded by mu
}

// delivery handles the snapshots for one replica: one snapshot at a time.
type delivery struct {
	turn  chan struct{} // full while a snapshot is being sent
	users int           // guarded by deliveries.mu: senders that wait for the turn, or have the turn
	// delivered is the index of the last completely delivered snapshot, while there are users. The sender with the turn
	// writes the field.
	delivered uint64
}

// enter waits for the turn. Waited is false if the turn came at once.
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

// leave passes on the turn.
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

// snapshotSender is this host's end of an outbound snapshot connection. The engine uses a sender from one goroutine.
//
// The engine regards a snapshot as delivered once the last chunk is written. If the snapshot has not arrived by then,
// the engine sends it again on a second connection, and the first chunk there makes the receiver drop the chunks that
// have arrived. The engine may also send a snapshot twice because of how it counts receivers. The two deliveries would
// then end each other, again and again. So a chunk is sent only after the remote host has processed the previous chunk,
// and a snapshot only after every earlier snapshot for the replica. A snapshot that has arrived meanwhile is not sent
// again.
type snapshotSender struct {
	*sender
	ctx      context.Context
	end      *engineEnd
	to       Target
	taken    *frameReader
	of       raftio.NodeInfo // the receiving replica
	delivery *delivery       // nil if there is none
	arrived  bool            // the snapshot has arrived already
}

// GetSnapshotConnection dials another host for a snapshot.
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

// dial opens the connection. The connection ends with the engine's context.
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

// begin waits until no other snapshot is being sent to the replica.
func (s *snapshotSender) begin(first *raftpb.Chunk) (err error) {
	var waited bool
	s.of = raftio.GetNodeInfo(first.ShardID, first.ReplicaID)
	if s.delivery, waited, err = s.end.deliveries.enter(s.ctx, s.of); err != nil || !waited {
		return err
	}
	if s.arrived = s.delivery.delivered == first.Index; s.arrived {
		return nil
	}
	s.sender.Close() // the remote host may have closed the connection meanwhile
	return s.dial()
}

// SendChunk sends a chunk, and returns after the remote host has processed it.
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
