package protocol

import "io"

// view reads one frame's payload where it lies. It is what the msgpack library reads from, and because
// the library never reads ahead of it, byte strings can be taken out of it without a copy.
type view struct {
	bytes []byte
	off   int
}

func (v *view) reset(b []byte) {
	v.bytes, v.off = b, 0
}

// rest returns how many bytes are still unread.
func (v *view) rest() int {
	return len(v.bytes) - v.off
}

// peek returns the next byte, the code of the next value, without moving on.
func (v *view) peek() (code byte, ok bool) {
	if v.off >= len(v.bytes) {
		return 0, false
	}
	return v.bytes[v.off], true
}

// take returns the next n bytes, which the caller knows to be there. The slice cannot be appended to in
// place, so that nobody writes into the frame by accident.
func (v *view) take(n int) []byte {
	b := v.bytes[v.off : v.off+n : v.off+n]
	v.off += n
	return b
}

// Read implements io.Reader.
func (v *view) Read(p []byte) (int, error) {
	if v.off >= len(v.bytes) && len(p) > 0 {
		return 0, io.EOF
	}
	n := copy(p, v.bytes[v.off:])
	v.off += n
	return n, nil
}

// ReadByte implements io.ByteReader.
func (v *view) ReadByte() (byte, error) {
	if v.off >= len(v.bytes) {
		return 0, io.EOF
	}
	b := v.bytes[v.off]
	v.off++
	return b, nil
}

// UnreadByte implements io.ByteScanner.
func (v *view) UnreadByte() error {
	if v.off == 0 {
		return io.ErrNoProgress
	}
	v.off--
	return nil
}
