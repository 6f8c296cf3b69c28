package raftlog

import (
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/lni/dragonboat/v4/raftpb"
)

const (
	// writeTimeout gives up a connection whose other end takes nothing.
	writeTimeout = 10 * time.Second
	// keepBufferBytes is the largest buffer that a connection keeps for the next frame.
	keepBufferBytes = 1 << 20
)

// sender is this host's end of a connection that it dialled. The engine uses it from one goroutine.
type sender struct {
	conn   net.Conn
	mac    *frameMAC // nil: frames have none
	buffer []byte
	// redial, where set, makes the connection anew, once for each frame that could not be written: the
	// other host may have started again since the last one. Messages of Raft may be lost and may come
	// twice, so a frame that went halfway is simply sent once more.
	redial func() (net.Conn, error)
}

// Close ends the connection. What was sent is delivered nevertheless.
func (s *sender) Close() { s.conn.Close() }

// SendMessageBatch sends messages, but without stray batches.
func (s *sender) SendMessageBatch(batch raftpb.MessageBatch) error {
	if slices.ContainsFunc(batch.Requests, hasStrayBatch) {
		batch.Requests = withoutStrayBatches(batch.Requests)
		if len(batch.Requests) == 0 {
			return nil
		}
	}
	return s.send(frameMessages, batch.SizeUpperLimit(), batch.MarshalTo)
}

// isStray tells of a batch that a host proposed because it took itself for the leader, and that its
// engine passes on because it had just learned better. By way of another host it could be applied after
// later batches of the same proposer, so it goes no further; its outcome is unknown.
func isStray(e raftpb.Entry) bool {
	return e.ClientID != forwarderID
}

func hasStrayBatch(m raftpb.Message) bool {
	return m.Type == raftpb.Propose && slices.ContainsFunc(m.Entries, isStray)
}

// withoutStrayBatches leaves the messages that it is given as they are.
func withoutStrayBatches(messages []raftpb.Message) []raftpb.Message {
	var kept []raftpb.Message
	for _, m := range messages {
		if m.Type == raftpb.Propose {
			m.Entries = slices.DeleteFunc(slices.Clone(m.Entries), isStray)
			if len(m.Entries) == 0 {
				continue
			}
		}
		kept = append(kept, m)
	}
	return kept
}

// SendChunk sends a part of a snapshot.
func (s *sender) SendChunk(chunk raftpb.Chunk) error {
	return s.send(frameChunk, chunk.Size(), chunk.MarshalTo)
}

// send writes a frame with one system call.
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
	conn, failed := s.redial()
	if failed != nil {
		return err
	}
	s.conn.Close()
	s.conn = conn
	return s.write(frame, kind)
}

// write gives a frame the MAC of the connection that it goes over, and writes it.
func (s *sender) write(frame []byte, kind byte) error {
	if s.mac != nil {
		frame = s.mac.seal(frame, kind)
	}
	if err := s.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	_, err := s.conn.Write(frame)
	return err
}
