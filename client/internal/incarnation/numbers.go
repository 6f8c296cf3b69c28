package incarnation

import (
	"cmp"
	"context"
)

// unansweredMax is how many mutations of a session may be unanswered, or answered out of order. A shard keeps only a
// few more answers than unansweredMax for a session.
const unansweredMax = 1000

// numbers are the numbers of a session's mutations. They grow with each mutation, and say up to which number all
// mutations are answered. The lock of the incarnation guards the numbers.
type numbers struct {
	last  uint64              // the highest number given
	low   uint64              // all up to here are answered
	early map[uint64]struct{} // answered numbers above low
	room  chan struct{}       // closed when a number may be given again; nil while no goroutine waits
}

// give returns the number of a mutation, a new number if the mutation has none, and the number up to which all
// mutations are answered, as the mutation reports it. A mutation that was answered already, and is sent again, reports
// less than its own number. The number is 0 while so many mutations are unanswered that a shard could run out of room
// for the answers.
func (n *numbers) give(number uint64) (given, acknowledged uint64) {
	if number == 0 {
		if n.last-n.low >= unansweredMax {
			return 0, 0
		}
		n.last++
		number = n.last
	}
	return number, min(n.low, number-1)
}

// giveLater is give for a mutation without a number, after a wait until a number may be given. The lock is held, except
// during the wait.
func (in *Incarnation) giveLater(ctx context.Context) (number, acknowledged uint64, err error) {
	for number == 0 {
		if in.numbers.room == nil {
			in.numbers.room = make(chan struct{})
		}
		room := in.numbers.room
		in.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-in.ctx.Done():
			err = context.Cause(in.ctx)
		}
		in.mu.Lock()
		if err = cmp.Or(err, in.cause); err != nil {
			return 0, 0, err
		}
		number, acknowledged = in.numbers.give(0)
	}
	return number, acknowledged, nil
}

// answered notes that a number will not be used again.
func (n *numbers) answered(number uint64) {
	switch {
	case number <= n.low:
	case number != n.low+1:
		if n.early == nil {
			n.early = make(map[uint64]struct{})
		}
		n.early[number] = struct{}{}
	default:
		n.low = number
		for len(n.early) > 0 {
			if _, ok := n.early[n.low+1]; !ok {
				break
			}
			n.low++
			delete(n.early, n.low)
		}
	}
	if n.room != nil && n.last-n.low < unansweredMax {
		close(n.room)
		n.room = nil
	}
}
