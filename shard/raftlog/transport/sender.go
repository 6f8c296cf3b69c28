package transport

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/lni/dragonboat/v4/raftpb"
)

const (
	// writeTimeout is the time after which a connection ends if the peer reads nothing.
	writeTimeout = 10 * time.Second
	// pieceBytes is how much of a frame the peer must read within writeTimeout: a whole frame may take longer on a slow
	// line.
	pieceBytes = 256 << 10
	// keepBufferBytes is the largest buffer a connection keeps for the next frame.
	keepBufferBytes = 1 << 20
)

// sender is this host's end of an outbound connection. The connection ends with ctx at the latest, because the engine's
// close waits for frames being sent. The engine uses a sender from one goroutine.
type sender struct {
	*dialled         // nil during a search
	search   *search // nil except during a search
	ctx      context.Context
	unwatch  func() bool // stops watching ctx
	buffer   []byte
	// sending is called with messages before they are sent.
	sending func([]raftpb.Message)
	// redial, if set, replaces the connection, once for each frame that could not be written: the remote host may have
	// restarted since the last frame. Raft messages may be lost or duplicated, so a frame that may be half sent is sent
	// again.
	redial func() (*dialled, error)
}

func newSender(ctx context.Context, d *dialled) *sender {
	s := &sender{ctx: ctx}
	s.use(d)
	return s
}

// use sets the sender's connection.
func (s *sender) use(d *dialled) {
	s.dialled, s.unwatch = d, context.AfterFunc(s.ctx, d.close)
	if s.redial != nil {
		go closeWithPeer(d.conn, d.close)
	}
}

// closeWithPeer watches a connection on which the peer never sends, and closes it once the peer has closed its end. The
// next frame is then sent over a new connection. Otherwise the kernel would accept the frame and lose it: a vote, say,
// for a peer that has restarted.
func closeWithPeer(conn net.Conn, closed func()) {
	_, _ = conn.Read(make([]byte, 1))
	closed()
}

// Close ends the connection. Frames already sent are still delivered.
func (s *sender) Close() {
	if s.search != nil {
		s.search.close()
		return
	}
	s.unwatch()
	s.close()
}

// SendMessageBatch sends messages, without proposals.
func (s *sender) SendMessageBatch(batch raftpb.MessageBatch) error {
	if slices.ContainsFunc(batch.Requests, isProposal) {
		batch.Requests = slices.DeleteFunc(slices.Clone(batch.Requests), isProposal)
		if len(batch.Requests) == 0 {
			return nil
		}
	}
	if lost, err := s.isLost(); lost || err != nil {
		return err
	}
	s.sending(batch.Requests)
	return s.send(frameMessages, batch.SizeUpperLimit(), batch.MarshalTo)
}

// isLost reports whether the connection is lost and a search for the host is in progress. An error means that the
// search has failed permanently.
func (s *sender) isLost() (bool, error) {
	if s.search == nil {
		return false, nil
	}
	select {
	case f := <-s.search.found:
		if f.err != nil {
			s.search.found <- f // for close
			return false, f.err
		}
		s.search = nil
		s.use(f.dialled)
		return false, nil
	default:
		return true, nil
	}
}

// isProposal reports whether a message has batches this host proposed as the leader, and that the engine forwards
// because another host leads by now. A forwarded batch could be applied after later batches from the same proposer, so
// it is not sent, and its outcome is unknown.
func isProposal(m raftpb.Message) bool { return m.Type == raftpb.Propose }

// send writes a frame; a short frame takes one system call.
func (s *sender) send(kind byte, sizeLimit int, marshalTo func([]byte) (int, error)) error {
	s.buffer = slices.Grow(s.buffer[:0], frameHeaderSize+sizeLimit+macSize)
	frame := s.buffer[:frameHeaderSize+sizeLimit]
	n, err := marshalTo(frame[frameHeaderSize:])
	if err != nil {
		return fmt.Errorf("encode a frame: %w", err)
	}
	frame = frame[:frameHeaderSize+n]
	sealFrame(frame, kind)
	if cap(s.buffer) > keepBufferBytes {
		s.buffer = nil
	}
	err = s.write(frame, kind)
	if err == nil || s.redial == nil {
		return err
	}
	again, failed := s.redial()
	if failed != nil {
		return err
	}
	s.Close()
	s.use(again)
	return s.write(frame, kind)
}

// write appends the connection's MAC to a frame, and writes it.
func (s *sender) write(frame []byte, kind byte) error {
	if s.out != nil {
		frame = s.out.seal(frame, kind)
	}
	return writePieces(s.conn, frame)
}

// writePieces writes a frame in pieces, with a read deadline for each piece at the peer.
func writePieces(conn net.Conn, frame []byte) error {
	for piece := range slices.Chunk(frame, pieceBytes) {
		if err := conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
			return err
		}
		if _, err := conn.Write(piece); err != nil {
			return err
		}
	}
	return nil
}
