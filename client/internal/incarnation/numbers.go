package incarnation

// unansweredMax is how many mutations of a session may be unanswered, or answered out of order. A shard keeps only a
// few more answers than unansweredMax for a session.
const unansweredMax = 1000

// numbers are the numbers of a session's mutations. They grow with each mutation, and say up to which number all
// mutations are answered.
type numbers struct {
	last  uint64              // the highest number given
	low   uint64              // all up to here are answered
	early map[uint64]struct{} // answered numbers above low
}

// next returns a new number.
func (n *numbers) next() uint64 {
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

// acknowledged is the number up to which all mutations are answered, as a mutation with a number reports it. A
// mutation that was answered already, and is sent again, reports less than its own number.
func (n *numbers) acknowledged(number uint64) uint64 {
	return min(n.low, number-1)
}

// full reports whether so many mutations are unanswered that a shard could run out of room for the answers.
func (n *numbers) full() bool { return n.last-n.low >= unansweredMax }

// numberDone notes that a number will not be used again. The lock is held, here and below.
func (in *Incarnation) numberDone(number uint64) {
	in.numbers.answered(number)
	if in.room != nil && !in.numbers.full() {
		close(in.room)
		in.room = nil
	}
}

// roomLater returns a channel that is closed when a number may be given again.
func (in *Incarnation) roomLater() <-chan struct{} {
	if in.room == nil {
		in.room = make(chan struct{})
	}
	return in.room
}
