package caller

import (
	"sync/atomic"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/access"
)

// kept are a client's rights according to the cluster's book. Safe for concurrent use.
type kept struct {
	gate  *Gate
	token *access.Record // as it was when the client was admitted; nil without a token
	who   []access.Principal

	state  atomic.Pointer[keptState]
	warned atomic.Bool // the client has been warned about the token expiry
}

// keptState is a client's rights according to one book version.
type keptState struct {
	book *access.Book
	set  *access.Set
	// all reports whether the client may do everything, because the cluster has no rules yet and the host is not
	// closed.
	all     bool
	gone    bool // the token was revoked
	version uint64
}

// current returns the rights according to the book version the host has applied.
func (k *kept) current() *keptState {
	book := k.gate.Meta.Rights()
	s := k.state.Load()
	if s != nil && s.book == book {
		return s
	}
	next := &keptState{book: book, set: book.Set(k.who...), all: k.gate.Open(book), version: 1}
	if k.token != nil {
		t := book.Record(k.token.Principal)
		next.gone = t == nil || t.Hash != k.token.Hash
	}
	if s != nil {
		next.version = s.version
		if s.all != next.all || !s.set.Equal(next.set) {
			next.version++
		}
	}
	k.state.CompareAndSwap(s, next) // if another goroutine won, both states are from the same book
	return next
}

// Allows implements Rights.
func (k *kept) Allows(path, object string, need protocol.Right) bool {
	s := k.current()
	return s.all || s.set.Allows(path, object, need)
}

// Valid implements Rights.
func (k *kept) Valid() bool {
	s := k.current()
	switch {
	case k.token != nil:
		return !s.gone && (k.token.Expires == 0 || k.gate.wall() < k.token.Expires)
	case s.all:
		return true
	}
	return s.set.Allows("", "", protocol.RightAll)
}

// Version implements Rights.
func (k *kept) Version() uint64 { return k.current().version }
