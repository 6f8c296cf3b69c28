package client

// numbers are those of a session's mutations. They grow with each mutation, and tell up to which one all
// answers are there.
type numbers struct {
	last  uint64              // the highest that was given
	low   uint64              // all up to here are answered
	early map[uint64]struct{} // those above low that are answered
}

// give returns a new number.
func (n *numbers) give() uint64 {
	n.last++
	return n.last
}

// answered notes that a number will not be used again.
func (n *numbers) answered(number uint64) {
	if number <= n.low {
		return
	}
	if number != n.low+1 {
		if n.early == nil {
			n.early = make(map[uint64]struct{})
		}
		n.early[number] = struct{}{}
		return
	}
	n.low = number
	for len(n.early) > 0 {
		if _, ok := n.early[n.low+1]; !ok {
			return
		}
		n.low++
		delete(n.early, n.low)
	}
}

// acknowledged is what a mutation of that number tells of the answers that are there. For one that was
// answered already, and is sent again, it stays below the number itself.
func (n *numbers) acknowledged(number uint64) uint64 {
	return min(n.low, number-1)
}

// full tells whether so many are unanswered that a shard could run out of room for the answers.
func (n *numbers) full() bool { return n.last-n.low >= unansweredMax }

// answeredNumber notes that a number is done with. The lock is held, here and below.
func (x *life) answeredNumber(number uint64) {
	x.numbers.answered(number)
	if x.room != nil && !x.numbers.full() {
		close(x.room)
		x.room = nil
	}
}

// roomLater returns a channel that is closed when a number may be given again.
func (x *life) roomLater() <-chan struct{} {
	if x.room == nil {
		x.room = make(chan struct{})
	}
	return x.room
}
