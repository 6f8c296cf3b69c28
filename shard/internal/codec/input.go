package codec

import (
	"encoding/binary"
	"fmt"
)

// Input takes values off the front of unchecked bytes. The first error is kept, and from then on the Input returns
// zeros. An Input allocates nothing: texts are views into the bytes.
type Input struct {
	Data []byte // not read yet
	bad  string
}

// Sound reports whether there was no error yet.
func (in *Input) Sound() bool { return in.bad == "" }

// Bad returns the first error, or "".
func (in *Input) Bad() string { return in.bad }

// Err returns the first error as an error value.
func (in *Input) Err() error {
	if in.bad == "" {
		return nil
	}
	return fmt.Errorf("%s: %w", in.bad, Err)
}

// Fail notes an error, and drops the bytes.
func (in *Input) Fail(why string) {
	if in.bad == "" {
		in.bad = why
	}
	in.Data = nil
}

// Must fails unless the condition holds, and reports whether there was no error yet.
func (in *Input) Must(holds bool, otherwise string) bool {
	if !holds {
		in.Fail(otherwise)
	}
	return in.bad == ""
}

// End fails if bytes are left.
func (in *Input) End() {
	if len(in.Data) > 0 {
		in.Fail(fmt.Sprintf("%d bytes stand behind the last field", len(in.Data)))
	}
}

// Byte takes a byte.
func (in *Input) Byte() byte {
	if !in.Must(len(in.Data) >= 1, cutShort) {
		return 0
	}
	v := in.Data[0]
	in.Data = in.Data[1:]
	return v
}

// Uint16 takes two bytes, the lower one first.
func (in *Input) Uint16() uint16 {
	low := in.Byte()
	return uint16(low) | uint16(in.Byte())<<8
}

// Uint64 takes eight bytes, the lowest one first.
func (in *Input) Uint64() uint64 {
	if !in.Must(len(in.Data) >= 8, cutShort) {
		return 0
	}
	v := binary.LittleEndian.Uint64(in.Data)
	in.Data = in.Data[8:]
	return v
}

// Number takes a varint, which must have its shortest form.
func (in *Input) Number() uint64 {
	if len(in.Data) > 0 && in.Data[0] < 0x80 {
		v := uint64(in.Data[0])
		in.Data = in.Data[1:]
		return v
	}
	v, n := binary.Uvarint(in.Data)
	if !in.Must(n > 1 && in.Data[n-1] != 0, "a number is cut off, too long or not in its shortest form") {
		return 0
	}
	in.Data = in.Data[n:]
	return v
}

// Bytes takes a length and that many bytes, without a copy.
func (in *Input) Bytes() []byte {
	n := in.Number()
	if !in.Must(n <= uint64(len(in.Data)), "a length beyond its bytes") {
		return nil
	}
	return in.take(n)
}

// take takes a number of bytes, which must exist.
func (in *Input) take(n uint64) []byte {
	v := in.Data[:n:n]
	in.Data = in.Data[n:]
	return v
}

// Count takes a list length; each entry takes at least the given number of bytes.
func (in *Input) Count(least int, otherwise string) int {
	n := in.Number()
	if !in.Must(n <= uint64(len(in.Data)/least), otherwise) {
		return 0
	}
	return int(n)
}

const cutShort = "cut short"

// AppendBytes appends the length and the bytes.
func AppendBytes[T ~string | ~[]byte](dst []byte, b T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// SetLength writes the length of the bytes from body on into the free byte before body, and inserts bytes if the length
// needs more than one.
func SetLength(dst []byte, body int) []byte {
	n := len(dst) - body
	if n < 0x80 {
		dst[body-1] = byte(n)
		return dst
	}
	var length [binary.MaxVarintLen64]byte
	more := binary.PutUvarint(length[:], uint64(n)) - 1
	dst = append(dst, length[:more]...) // make space; the content is overwritten
	copy(dst[body+more:], dst[body:body+n])
	copy(dst[body-1:], length[:more+1])
	return dst
}
