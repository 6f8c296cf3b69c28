package shard

import (
	"encoding/binary"

	"github.com/signalbox/signalbox/shard/internal/codec"
)

// A batch encodes a command's fields in bit order, which is the order in Command. A new field gets its bit and its name
// here. A test writes command_gen.go, which reads and writes the fields; a tag in Command selects an encoding if the
// type does not: a number is a varint, and bytes follow their length.
//
// The bits are stored in bytes, the first eight in the first byte. The last bit in the second byte, and in each further
// byte, is not a field: it means that a further byte follows. One bit in the second byte and two in the third are free
// for fields of frequent commands; fields of rare commands go into the bytes after the third.

const (
	hasFlags = 1 << iota
	hasSlot
	hasNode
	hasSession
	hasNumber
	hasAcked
	hasName
	hasData
	hasKey
	hasCount
	hasTimeout
	hasOrder
	hasTerm
	hasSessions
	_
	hasMore
	hasRevision
	hasSum
	hasTime
	hasClient
	hasBytes
	_
	_
	hasFourth
	hasBody

	knownFields = 1<<iota - 1 - 1<<14 - 1<<21 - 1<<22 | moreBytes

	// moreBytes are the bits for "a further byte follows". There are at most eight.
	moreBytes = hasMore | hasFourth | 1<<31 | 1<<39 | 1<<47 | 1<<55
)

func appendSessions(dst []byte, list []SessionID) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	for _, id := range list {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(id))
	}
	return dst
}

func appendClient(dst []byte, c ClientRef) []byte {
	return codec.AppendBytes(codec.AppendBytes(codec.AppendBytes(dst, c.Address), c.Name), c.Version)
}

func (r *reader) client(*Batch) ClientRef {
	return ClientRef{Address: r.Bytes(), Name: r.Bytes(), Version: r.Bytes()}
}

// filled reads bytes that must not be empty.
func (r *reader) filled() []byte {
	v := r.Bytes()
	r.Must(len(v) > 0, "a body without bytes")
	return v
}

func (r *reader) sessions(b *Batch) []SessionID {
	n := r.Number()
	if !r.Must(n <= uint64(len(r.Data))/8, "more sessions than it has bytes") {
		return nil
	}
	from := len(b.sessions)
	for range n {
		b.sessions = append(b.sessions, SessionID(r.Uint64()))
	}
	return b.sessions[from:len(b.sessions):len(b.sessions)]
}
