package process

import (
	"context"
	"slices"
	"sync"

	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
)

// Round is one epoch's round, as seen by a member. A Round is safe for concurrent use.
type Round struct {
	part        *part
	epoch       uint64
	coordinator uint64
	size        int
	ctx         context.Context // ends with the epoch; has its cause
	end         context.CancelCauseFunc
	completed   chan struct{} // closed when the completion came
	prepared    chan struct{} // closed when a host knows that the member is prepared

	reading chan struct{} // capacity 1: the call that reads the members
	peers   []*Peer       // nil before they are read; only used by the reading call

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

// Epoch returns the epoch number, which increases with each epoch and serves as the round's fencing token: send it with
// every write to a store on behalf of the round, and let the store reject lower numbers.
func (r *Round) Epoch() uint64 { return r.epoch }

// Context returns a context that ends with the epoch. The cause is ErrCancelled, or why the membership ended. A
// completed round's context ends when the next epoch opens.
func (r *Round) Context() context.Context { return r.ctx }

// Membership returns this member's membership, for work that spans several rounds.
func (r *Round) Membership() *Membership { return (*Membership)(r.part) }

// Self returns this member's id.
func (r *Round) Self() uint64 { return r.part.id }

// Coordinator returns the coordinator's member id.
func (r *Round) Coordinator() uint64 { return r.coordinator }

// IsCoordinator reports whether this member coordinates.
func (r *Round) IsCoordinator() bool { return r.coordinator == r.part.id }

// Size returns how many members the epoch has.
func (r *Round) Size() int { return r.size }

// Members returns the epoch's members sorted by id, which is the order in which they joined, without members that have
// left. The first call reads the members, and concurrent calls share the result, so a round that only broadcasts never
// reads them. To have the members ready for Coordinate, call Members in Prepare from a separate goroutine. The peers
// are shared and must not be changed.
func (r *Round) Members(ctx context.Context) ([]*Peer, error) {
	peers, err := r.readOnce(ctx)
	if err != nil {
		return nil, failed(OpDescribe, r.part.member.Name(), r.errorOf(err))
	}
	return slices.Clone(peers), nil
}

// readOnce reads the members unless already read.
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

// Set stores a value until the round ends, so handler functions can pass values to later functions.
func (r *Round) Set(key, value any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.values == nil {
		r.values = make(map[any]any)
	}
	r.values[key] = value
}

// Get returns a value stored by Set, or nil.
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

// errorOf returns the error for a member's operation: a *CancelledError if the operation failed and the epoch is over.
func (r *Round) errorOf(err error) error {
	if cause := r.over(); err != nil && cause != nil {
		return &CancelledError{PartialReplies: PartialReplies{Epoch: r.epoch}, Cause: cause}
	}
	return err
}

// over returns why the round is over for this member, or nil. In a paused process, the clock may show that the session
// is over before the round's context ends.
func (r *Round) over() error {
	if cause := context.Cause(r.ctx); cause != nil {
		return cause
	}
	return r.Membership().Err()
}
