package replica

import "github.com/signalbox/signalbox/shard"

// waiting is a queued acquire with the receiver of its outcome.
type waiting struct {
	slot    shard.Slot
	number  uint64
	conn    Conn
	request uint64
	since   int64
	// withdrawn: the client has lost the right to wait, and the acquire is being removed from its queue.
	withdrawn bool
}

// waiters are the queued acquires of the host's clients. A session may have many, so every acquire is found by its
// number, and one session's acquires are chained.
type waiters struct {
	byNumber map[waitKey]*waiter
	first    map[shard.SessionID]*waiter
}

type waitKey struct {
	session shard.SessionID
	number  uint64
}

type waiter struct {
	waiting
	next, prev *waiter // of the same session
}

func (wa *waiters) init() {
	wa.byNumber = make(map[waitKey]*waiter)
	wa.first = make(map[shard.SessionID]*waiter)
}

// add adds a waiting acquire, replacing an earlier entry with its number.
func (wa *waiters) add(id shard.SessionID, w waiting) {
	key := waitKey{id, w.number}
	if old := wa.byNumber[key]; old != nil {
		old.waiting = w
		return
	}
	x := &waiter{waiting: w, next: wa.first[id]}
	if x.next != nil {
		x.next.prev = x
	}
	wa.first[id], wa.byNumber[key] = x, x
}

// take removes a waiting acquire.
func (wa *waiters) take(id shard.SessionID, number uint64) (w waiting, ok bool) {
	x := wa.byNumber[waitKey{id, number}]
	if x == nil {
		return waiting{}, false
	}
	wa.remove(id, x)
	return x.waiting, true
}

// takeUnless removes and returns the acquires in slots for which stays returns false.
func (wa *waiters) takeUnless(stays func(shard.Slot) bool) (all []waiting) {
	for key, x := range wa.byNumber {
		if !stays(x.slot) {
			wa.remove(key.session, x)
			all = append(all, x.waiting)
		}
	}
	return all
}

func (wa *waiters) remove(id shard.SessionID, x *waiter) {
	delete(wa.byNumber, waitKey{id, x.number})
	if x.next != nil {
		x.next.prev = x.prev
	}
	switch {
	case x.prev != nil:
		x.prev.next = x.next
	case x.next != nil:
		wa.first[id] = x.next
	default:
		delete(wa.first, id)
	}
}

// withdraw marks an acquire as withdrawn. It returns false if the acquire does not wait over the connection, or was
// withdrawn before.
func (wa *waiters) withdraw(id shard.SessionID, number uint64, c Conn) bool {
	x := wa.byNumber[waitKey{id, number}]
	if x == nil || x.conn != c || x.withdrawn {
		return false
	}
	x.withdrawn = true
	return true
}

// drop removes a session's acquires over one connection, or all of them if c is nil.
func (wa *waiters) drop(id shard.SessionID, c Conn) {
	for x := wa.first[id]; x != nil; x = x.next {
		if c == nil || x.conn == c {
			wa.remove(id, x)
		}
	}
}
