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
	// writeTimeout is after how long a connection ends if the peer reads nothing.
	writeTimeout = 10 * time.Second
	// pieceBytes is how much of a frame the peer must read within writeTimeout: a frame may take longer on a slow line.
	pieceBytes = 256 << 10
	// keepBufferBytes is the largest buffer that a connection keeps for the next frame.
	keepBufferBytes = 1 << 20
)

// sender is this host's end of a connection that the host dialled. The connection ends with ctx at the latest, because
// the engine's close waits for frames that are being sent. The engine uses a sender from one goroutine.
type sender struct {
	*dialled         // nil while the host is searched for
	search   *search // nil except during the search
	ctx      context.Context
	unwatch  func() bool // ends the watch of ctx
	buffer   []byte
	// sending is called with messages before they are sent.
	sending func([]raftpb.Message)
	// redial, if set, makes the connection anew, once for each frame that could not be written: the other host may have
	// started again since the last frame. Messages of Raft may be lost and may come twice, so a frame that may be half
	// sent is sent once more.
	redial func() (*dialled, error)
}

func newSender(ctx context.Context, d *dialled) *sender {
	s := &sender{ctx: ctx}
	s.use(d)
	return s
}

// use makes a connection the sender's.
func (s *sender) use(d *dialled) {
	s.dialled, s.unwatch = d, context.AfterFunc(s.ctx, d.close)
	if s.redial != nil {
		go closeWithPeer(d.conn, d.close)
	}
}

// closeWithPeer closes a connection over which the peer sends nothing, once the peer has closed its end. The next frame
// is then sent over a new connection. Otherwise the kernel would accept the frame and lose it: the vote, say, for a
// peer that has started again.
func closeWithPeer(conn net.Conn, closed func()) {
	_, _ = conn.Read(make([]byte, 1))
	closed()
}

// Close ends the connection. Frames that were sent are delivered nevertheless.
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

// isLost reports whether the host is still searched for. After an error the search has failed for good.
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

// isProposal reports whether a message has batches that this host proposed as the leader, and that the engine forwards
// because another host leads by now. A forwarded batch could be applied after later batches of the same proposer, so
// the batch is not sent, and its outcome is unknown.
func isProposal(m raftpb.Message) bool { return m.Type == raftpb.Propose }

// send writes a frame, with one system call for a short frame.
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

// writePieces writes a frame, whose pieces the peer has to read in time.
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
