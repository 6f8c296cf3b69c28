package client

import (
	"errors"
	"os"
	"runtime"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// turn says who reads a connection.
//
// The link's own goroutine, the reader, does so as long as anybody waits for anything. When the answer to the only
// request is there it lends the turn: a caller whose request is alone again reads its answer by itself, as a
// program with a bare connection would. Waking one goroutine from another costs about as much as the whole way to
// a host of the same machine and back.
//
// A caller that reads cannot look at its context, and while the turn is lent to nobody what a host tells by itself
// lies unread. So neither lasts: the reader looks after the turn once in a while, takes it if nobody has used it
// since, and has a caller that waited as long give it back.
type turn uint8

const (
	turnReader turn = iota // the reader reads, or is about to
	turnFree               // nobody does: the next caller whose request is alone will
	turnCaller             // a caller does, until it has its answer
)

// lentFor is how often the reader looks after a turn that it has lent. Twice that is the longest time for which the end
// of a caller's context, or a push that nobody waits for, may go unnoticed.
const lentFor = 2 * time.Millisecond

// read hands on what the host sends, until the link is down.
func (l *link) read() {
	for {
		if err := l.readNext(); err != nil {
			l.fail(err)
			return
		}
		if !l.from.empty() {
			continue
		}
		if l.lend() {
			l.lookAfter()
			continue
		}
		// Those who were just answered go on before the connection is read again: what they send next may be
		// answered by then, and is not waited for.
		runtime.Gosched()
	}
}

// readNext hands on one message. It is for who has the turn.
func (l *link) readNext() error {
	payload, err := l.from.next()
	if err != nil {
		return err
	}
	a, err := l.decoder.Decode(payload)
	if err != nil {
		var bad *protocol.DecodeError
		if errors.As(err, &bad) && bad.UnknownKind && !(bad.Kind.IsAnswer() && l.awaits(bad.ID)) {
			return nil // a push of a later version of the protocol
		}
		return err
	}
	if a.ID == 0 {
		l.told(a)
	} else {
		l.deliver(a)
	}
	return nil
}

// readFor reads for a caller that has the turn, until there is something in its channel, or for as long as it may.
func (l *link) readFor(wake <-chan struct{}) {
	for len(wake) == 0 {
		if err := l.readNext(); errors.Is(err, os.ErrDeadlineExceeded) {
			break // the reader wants its turn back
		} else if err != nil {
			l.fail(err)
			break
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.recalled {
		l.recalled = false
		_ = l.conn.SetReadDeadline(time.Time{}) // of a connection that is closed it does not matter
	} else if l.lonely() {
		l.turn = turnFree
		return
	}
	l.recall()
}

// lonely tells whether nobody waits for anything, and nothing lies unread. The lock is held, by who has the turn.
func (l *link) lonely() bool {
	return len(l.handlers) == 0 && l.from.empty() && l.err == nil
}

// lend gives the reader's turn away, if a caller is likely to use it. The reader has to look after it then.
func (l *link) lend() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.answeredAlone || !l.lonely() {
		return false
	}
	l.answeredAlone = false
	l.turn, l.seen = turnFree, l.borrowed
	return true
}

// borrow takes the turn for a caller, if it is free. The lock is held.
func (l *link) borrow() bool {
	if l.turn != turnFree {
		return false
	}
	l.turn = turnCaller
	l.borrowed++
	return true
}

// recall gives a turn that nobody has to the reader. The lock is held.
func (l *link) recall() {
	l.turn = turnReader
	select {
	case l.returned <- struct{}{}:
	default:
	}
}

// lookAfter waits until the reader has its turn again, or the link is down.
func (l *link) lookAfter() {
	l.ticker.Reset(lentFor)
	defer l.ticker.Stop()
	for {
		select {
		case <-l.returned:
			return
		case <-l.down:
			return
		case <-l.ticker.C:
		}
		l.mu.Lock()
		if unused := l.borrowed == l.seen; unused && l.turn == turnFree {
			l.turn = turnReader
			l.mu.Unlock()
			return
		} else if unused && l.turn == turnCaller && !l.recalled {
			l.recalled = true
			_ = l.conn.SetReadDeadline(time.Unix(1, 0)) // a connection that is closed cannot be read either
		}
		l.seen = l.borrowed
		l.mu.Unlock()
	}
}
