package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// FrameHeaderBytes is the size of the length in front of every frame's payload.
const FrameHeaderBytes = 4

var (
	// ErrFrameTooLarge: a frame announces more bytes than the limit in force. Only a reader of the whole frame would
	// find the start of the next frame, so the connection is closed.
	ErrFrameTooLarge = errors.New("frame too large")
	// ErrFrameEmpty: a frame announces no bytes. No message is that short, so the peer does not speak this protocol,
	// and the connection is closed.
	ErrFrameEmpty = errors.New("frame of no bytes")
)

// ScanFrame looks for one frame at the start of b, the bytes that a connection has received.
//
// Where the frame is complete, payload is its msgpack array, a view into b, and size is the number of bytes of b that
// the frame takes. Where the frame is incomplete, payload is nil and size is the number of bytes that b must have
// before the next scan is of use. ScanFrame compares the announced length with limit, the most bytes of a payload, as
// soon as the length has arrived: no caller needs room for more than FrameHeaderBytes+limit.
func ScanFrame(b []byte, limit int) (payload []byte, size int, err error) {
	if len(b) < FrameHeaderBytes {
		return nil, FrameHeaderBytes, nil
	}
	length := binary.BigEndian.Uint32(b)
	if length == 0 {
		return nil, 0, fmt.Errorf("protocol: scan: %w", ErrFrameEmpty)
	}
	if int64(length) > int64(limit) {
		return nil, 0, fmt.Errorf("protocol: scan: %w: %d bytes announced, at most %d", ErrFrameTooLarge, length, limit)
	}
	size = FrameHeaderBytes + int(length)
	if len(b) < size {
		return nil, size, nil
	}
	return b[FrameHeaderBytes:size:size], size, nil
}
