package meta

import (
	"encoding/binary"
	"fmt"
)

// Batches and snapshots are made of the same fields: numbers as varints, texts as a length and bytes.

func appendText(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

func appendNumbers[N ~uint64](dst []byte, list []N) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	for _, n := range list {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	return dst
}

// fieldReader reads fields from unchecked bytes. The first error stays in err, and all later reads return zero. The
// memory that the reader allocates is bounded by the length of the bytes.
type fieldReader struct {
	src []byte
	err error
}

func (r *fieldReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
		r.src = nil
	}
}

func (r *fieldReader) number(name string) uint64 {
	n, size := binary.Uvarint(r.src)
	if size <= 0 {
		if size == 0 {
			r.fail("%s: the bytes end within the number", name)
		}
		r.fail("%s: the number does not fit into 64 bits", name)
		return 0
	}
	r.src = r.src[size:]
	return n
}

// upTo reads a number with an upper bound.
func (r *fieldReader) upTo(name string, most uint64) uint64 {
	n := r.number(name)
	if n > most {
		r.fail("%s: %d is above %d", name, n, most)
		return 0
	}
	return n
}

func (r *fieldReader) octet(name string) byte {
	if len(r.src) == 0 {
		r.fail("%s: the byte is missing", name)
		return 0
	}
	b := r.src[0]
	r.src = r.src[1:]
	return b
}

func (r *fieldReader) fixed64(name string) uint64 {
	if len(r.src) < 8 {
		r.fail("%s: 8 bytes are needed, %d are left", name, len(r.src))
		return 0
	}
	n := binary.LittleEndian.Uint64(r.src)
	r.src = r.src[8:]
	return n
}

// bytes reads a length and as many bytes, without a copy.
func (r *fieldReader) bytes(name string) []byte {
	n := r.number(name)
	if n > uint64(len(r.src)) {
		r.fail("%s: a length of %d, but %d bytes are left", name, n, len(r.src))
		return nil
	}
	b := r.src[:n]
	r.src = r.src[n:]
	return b
}

func (r *fieldReader) text(name string) string { return string(r.bytes(name)) }

// count reads the length of a list whose entries take at least one byte.
func (r *fieldReader) count(name string) int {
	n := r.number(name)
	if n > uint64(len(r.src)) {
		r.fail("%s: %d entries, but %d bytes are left", name, n, len(r.src))
		return 0
	}
	return int(n)
}

// numbers reads a list of numbers, nil for an empty list.
func numbers[N ~uint64](r *fieldReader, name string) []N {
	n := r.count(name)
	if n == 0 {
		return nil
	}
	list := make([]N, n)
	for i := range list {
		list[i] = N(r.number(name))
	}
	return list
}

// end returns the first error. Bytes left unread are an error too.
func (r *fieldReader) end() error {
	if len(r.src) > 0 {
		r.fail("%d bytes more than there should be", len(r.src))
	}
	return r.err
}
