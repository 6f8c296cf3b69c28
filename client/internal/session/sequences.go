package session

import (
	"cmp"
	"context"
)

// unansweredMax is how many session mutations may be unanswered or answered out of order. A shard keeps only a few more
// responses per session.
const unansweredMax = 1000

// sequences assigns increasing sequence numbers to a session's mutations, and tracks up to which number all mutations
// are answered. The incarnation's lock guards sequences.
type sequences struct {
	last  uint64              // the highest number given
	low   uint64              // all up to here are answered
	early map[uint64]struct{} // answered numbers above low
	room  chan struct{}       // closed when a number may be given again; nil while no goroutine waits
}

// give returns a mutation's number, which is new if the mutation has none, and the number up to which all mutations are
// answered, for the mutation to report. An already answered mutation that is sent again reports less than its own
// number. The number is 0 while too many mutations are unanswered for a shard to store the responses.
func (s *sequences) give(number uint64) (given, acknowledged uint64) {
	if number == 0 {
		if s.last-s.low >= unansweredMax {
			return 0, 0
		}
		s.last++
		number = s.last
	}
	return number, min(s.low, number-1)
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

// answered records that a number will not be used again.
func (s *sequences) answered(number uint64) {
	switch {
	case number <= s.low:
	case number != s.low+1:
		if s.early == nil {
			s.early = make(map[uint64]struct{})
		}
		s.early[number] = struct{}{}
	default:
		s.low = number
		for len(s.early) > 0 {
			if _, ok := s.early[s.low+1]; !ok {
				break
			}
			s.low++
			delete(s.early, s.low)
		}
	}
	if s.room != nil && s.last-s.low < unansweredMax {
		close(s.room)
		s.room = nil
	}
}
