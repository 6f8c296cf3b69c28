package transport

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"time"
)

// frameHeaderSize is the header size in a frame between hosts, before the payload:
//
//	bytes 0..2   "SBX"
//	byte  3      kind
//	bytes 4..7   length of the payload, big endian
//	bytes 8..11  CRC-32C of bytes 0..7 and the payload, big endian
//
// If the hosts have a secret, the 16 bytes after the payload are the MAC.
const frameHeaderSize = 12

// Frame kinds.
const (
	frameMessages = 1 // a raftpb.MessageBatch
	frameChunk    = 2 // a raftpb.Chunk
	frameCall     = 4 // a request; helloKind is number 3
	frameAnswer   = 5 // an answer
	frameTaken    = 6 // empty: confirms a chunk once it is processed
	// The same as frameCall and frameAnswer on a persistent connection, where the payload follows the call number.
	frameKeptCall   = 7
	frameKeptAnswer = 8
)

// frameRules bound the frames on a connection.
type frameRules struct {
	kinds    []byte
	maxBytes uint32
}

var (
	framesOfEngine = frameRules{[]byte{frameMessages, frameChunk}, maxFrameBytes}
	framesOfCall   = frameRules{[]byte{frameCall}, callHead + MaxCallBytes}
	framesOfAnswer = frameRules{[]byte{frameAnswer}, answerHead + MaxCallBytes}
	framesOfTaken  = frameRules{[]byte{frameTaken}, 0}

	framesOfKeptCalls   = frameRules{[]byte{frameKeptCall}, keptHead + callHead + maxKeptBytes}
	framesOfKeptAnswers = frameRules{[]byte{frameKeptAnswer}, keptHead + answerHead + MaxCallBytes}
)

const (
	// maxFrameBytes exceeds what the engine sends at once: 64 MiB, and one message of the same size.
	maxFrameBytes = 160 << 20
	// frameReadStep bounds the memory allocated for a payload before its bytes arrive.
	frameReadStep   = 1 << 20
	readBufferBytes = 64 << 10
	// silence is the time without a frame after which a connection ends. The engine ends its own connections after a
	// minute.
	silence = 2 * time.Minute
)

var (
	frameMagic = [3]byte{'S', 'B', 'X'}
	errFrame   = errors.New("bad frame")
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// sealFrame fills in a frame's header.
func sealFrame(frame []byte, kind byte) {
	copy(frame, frameMagic[:])
	frame[3] = kind
	binary.BigEndian.PutUint32(frame[4:], uint32(len(frame)-frameHeaderSize))
	binary.BigEndian.PutUint32(frame[8:], frameSum(frame[:8], frame[frameHeaderSize:]))
}

func frameSum(head, payload []byte) uint32 {
	return crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, payload)
}

// writeFrame writes a small frame.
func writeFrame(conn io.Writer, mac *frameMAC, kind byte, payload []byte) error {
	_, err := conn.Write(newFrame(mac, kind, payload))
	return err
}

// newFrame returns the next frame for a connection.
func newFrame(mac *frameMAC, kind byte, payload []byte) []byte {
	frame := append(make([]byte, frameHeaderSize, frameHeaderSize+len(payload)+macSize), payload...)
	sealFrame(frame, kind)
	if mac != nil {
		frame = mac.seal(frame, kind)
	}
	return frame
}

// frameSource has the net.Conn methods a frameReader needs.
type frameSource interface {
	io.Reader
	SetReadDeadline(time.Time) error
}

// frameReader reads frames from a connection.
type frameReader struct {
	conn   frameSource
	mac    *frameMAC // nil: frames have no MAC
	rules  frameRules
	r      *bufio.Reader
	buffer []byte
	until  time.Time // the current read deadline
	// silence is the time without a frame after which reading ends.
	silence time.Duration
}

func newFrameReader(conn frameSource, mac *frameMAC, rules frameRules) *frameReader {
	size := min(readBufferBytes, frameHeaderSize+int(rules.maxBytes)+macSize)
	return &frameReader{conn: conn, mac: mac, rules: rules, r: bufio.NewReaderSize(conn, size), silence: silence}
}

// next returns the next frame. The payload is valid until the next call.
func (f *frameReader) next() (kind byte, payload []byte, err error) {
	if now := time.Now(); f.until.Sub(now) < f.silence/2 {
		f.until = now.Add(f.silence)
		if err := f.conn.SetReadDeadline(f.until); err != nil {
			return 0, nil, err
		}
	}
	var header [frameHeaderSize]byte
	if _, err := io.ReadFull(f.r, header[:]); err != nil {
		return 0, nil, err
	}
	kind, size := header[3], binary.BigEndian.Uint32(header[4:])
	if [3]byte(header[:3]) != frameMagic || !slices.Contains(f.rules.kinds, kind) || size > f.rules.maxBytes {
		return 0, nil, refuse(RefusedFrame, "%w: header % x", errFrame, header)
	}
	payload, err = f.read(int(size))
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return 0, nil, err
	}
	if frameSum(header[:8], payload) != binary.BigEndian.Uint32(header[8:]) {
		return 0, nil, refuse(RefusedFrame, "%w: wrong checksum", errFrame)
	}
	if f.mac != nil {
		var mac [macSize]byte
		if _, err := io.ReadFull(f.r, mac[:]); err != nil {
			return 0, nil, err
		}
		if !f.mac.check(kind, payload, mac[:]) {
			return 0, nil, refuse(RefusedFrame, "%w: wrong MAC", errFrame)
		}
	}
	return kind, payload, nil
}

// read reads a payload. It allocates memory as bytes arrive, not by the announced size.
func (f *frameReader) read(size int) ([]byte, error) {
	if cap(f.buffer) > keepBufferBytes {
		f.buffer = nil
	}
	payload := f.buffer[:0]
	for len(payload) < size {
		have := len(payload)
		step := min(size-have, max(frameReadStep, have))
		payload = slices.Grow(payload, step)[:have+step]
		if _, err := io.ReadFull(f.r, payload[have:]); err != nil {
			return nil, err
		}
	}
	f.buffer = payload
	return payload, nil
}
