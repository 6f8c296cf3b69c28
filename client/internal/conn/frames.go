package conn

import (
	"io"

	"github.com/signalbox/signalbox/protocol"
)

// frames cuts the bytes of a connection into frames.
type frames struct {
	from  io.Reader
	limit int // the longest payload
	buf   []byte
	start int // of the bytes that have not been returned yet
	end   int // of the bytes that have been read
}

const readBuffer = 16 << 10

func newFrames(from io.Reader) *frames {
	return &frames{
		from:  from,
		limit: int(protocol.FrameLimits(protocol.MaxDataBytes).AnswerFrameBytes),
		buf:   make([]byte, readBuffer),
	}
}

// empty reports whether next has to read.
func (f *frames) empty() bool { return f.start == f.end }

// next returns the payload of the next frame, which is good until the next call.
func (f *frames) next() ([]byte, error) {
	for {
		payload, size, err := protocol.ScanFrame(f.buf[f.start:f.end], f.limit)
		if err != nil {
			return nil, err
		}
		if payload != nil {
			f.start += size
			return payload, nil
		}
		f.makeRoom(size)
		n, err := f.from.Read(f.buf[f.end:])
		f.end += n
		if n == 0 && err != nil {
			return nil, err
		}
	}
}

// makeRoom makes room for a frame of the size behind start.
func (f *frames) makeRoom(size int) {
	rest := f.end - f.start
	buf := f.buf
	switch {
	case size > len(buf):
		buf = make([]byte, max(size, min(2*len(buf), f.limit)))
	case rest == 0 && len(buf) > keptBuffer:
		buf = make([]byte, readBuffer)
	case rest > 0 && size <= len(buf)-f.start:
		return
	}
	copy(buf, f.buf[f.start:f.end])
	f.buf, f.start, f.end = buf, 0, rest
}
