package process

import (
	"context"
	"slices"
	"sync"

	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
)

// Round is the round of one epoch, as a member sees the round. It is safe for use by many goroutines.
type Round struct {
	part        *part
	epoch       uint64
	coordinator uint64
	size        int
	ctx         context.Context // ends with the epoch, with its cause
	end         context.CancelCauseFunc
	completed   chan struct{} // closed when the completion came
	prepared    chan struct{} // closed when a host knows that the member is prepared

	reading chan struct{} // holds one: the call that reads the members
	peers   []*Peer       // nil before they are read; of the call that reads

	mu     sync.Mutex // guards values
	values map[any]any
}

func newRound(p *part, m *protocol.Item) *Round {
	r := &Round{
		part: p, epoch: m.Epoch, coordinator: m.Coordinator, size: int(m.Members),
		completed: make(chan struct{}), prepared: make(chan struct{}), reading: make(chan struct{}, 1),
	}
	r.ctx, r.end = context.WithCancelCause(p.ctx)
	return r
}

// Epoch returns the number of the epoch. The number is larger than the numbers of all epochs before, and is the
// fencing token of the round: a write to a store on behalf of the round has the number, and the store refuses lower
// numbers.
func (r *Round) Epoch() uint64 { return r.epoch }

// Context returns a context that ends with the epoch. The cause is ErrCancelled, or why the membership ended. The
// context of a complete round ends when the next epoch opens.
func (r *Round) Context() context.Context { return r.ctx }

// Membership returns the membership of this member: work that goes on from round to round goes by the membership.
func (r *Round) Membership() *Membership { return (*Membership)(r.part) }

// Self returns the id of this member.
func (r *Round) Self() uint64 { return r.part.id }

// Coordinator returns the id of the member that coordinates.
func (r *Round) Coordinator() uint64 { return r.coordinator }

// IsCoordinator reports whether this member coordinates.
func (r *Round) IsCoordinator() bool { return r.coordinator == r.part.id }

// Size returns how many members the epoch has.
func (r *Round) Size() int { return r.size }

// Members returns the members of the epoch by id, which is the order in which they joined; members that are gone are
// left out. The first call reads the members, for calls at the same time too: a round that only broadcasts does
// without. A call by Prepare on a goroutine of its own has Coordinate find the members there. The peers are shared and
// must not be changed.
func (r *Round) Members(ctx context.Context) ([]*Peer, error) {
	peers, err := r.readOnce(ctx)
	if err != nil {
		return nil, failed(OpDescribe, r.part.member.Name(), r.errorOf(err))
	}
	return slices.Clone(peers), nil
}

// readOnce reads the members, unless they were read before.
func (r *Round) readOnce(ctx context.Context) (peers []*Peer, err error) {
	ctx, cancel := object.Within(ctx, r.ctx)
	defer cancel()
	select {
	case r.reading <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-r.reading }()
	if r.peers == nil {
		r.peers, err = r.readMembers(ctx)
	}
	return r.peers, err
}

// Set keeps a value for as long as the round lasts: a function of the handler leaves the value for the next function.
func (r *Round) Set(key, value any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.values == nil {
		r.values = make(map[any]any)
	}
	r.values[key] = value
}

// Get returns a value that was Set, nil if there is none.
func (r *Round) Get(key any) any {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.values[key]
}

// isComplete reports whether the completion came.
func (r *Round) isComplete() bool { return isClosed(r.completed) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// errorOf is the error of an operation of the member: a *CancelledError if the operation failed and the epoch is over.
func (r *Round) errorOf(err error) error {
	if cause := r.over(); err != nil && cause != nil {
		return &CancelledError{PartialReplies: PartialReplies{Epoch: r.epoch}, Cause: cause}
	}
	return err
}

// over returns why the round is over for this member, nil if it is not. A process that stood still learns by the clock
// that the session is over, before the round's context ends.
func (r *Round) over() error {
	if cause := context.Cause(r.ctx); cause != nil {
		return cause
	}
	return r.Membership().Err()
}
