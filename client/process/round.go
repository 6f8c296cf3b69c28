package process

import (
	"context"
	"slices"
	"sync"

	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
)

// Round is what happens in one epoch, as one of its members sees it. It is safe for use by many goroutines.
type Round struct {
	part        *part
	epoch       uint64
	coordinator uint64
	size        int
	ctx         context.Context // ends with the epoch, with its cause
	end         context.CancelCauseFunc
	completed   chan struct{} // closed when the completion came
	prepared    chan struct{} // closed when a host knows that the member is prepared

	mu     sync.Mutex // guards what follows
	values map[any]any
	peers  []*Peer // nil before they are read
}

func newRound(p *part, m *protocol.Item) *Round {
	r := &Round{
		part: p, epoch: m.Epoch, coordinator: m.Coordinator, size: int(m.Members),
		completed: make(chan struct{}), prepared: make(chan struct{}),
	}
	r.ctx, r.end = context.WithCancelCause(p.ctx)
	return r
}

// Epoch returns the number of the epoch. It is larger than those of all epochs before, and is the fencing token of the
// round: who writes to a store on behalf of the round sends it along, and the store refuses lower ones.
func (r *Round) Epoch() uint64 { return r.epoch }

// Context returns a context that ends with the epoch, with a cause that is ErrCancelled, or why the membership ended.
// That of a round that is complete ends when the next epoch opens.
func (r *Round) Context() context.Context { return r.ctx }

// Membership returns the membership of this member: what it does from round to round goes by it.
func (r *Round) Membership() *Membership { return (*Membership)(r.part) }

// Self returns the id of this member.
func (r *Round) Self() uint64 { return r.part.id }

// Coordinator returns the id of the member that coordinates.
func (r *Round) Coordinator() uint64 { return r.coordinator }

// IsCoordinator reports whether this member coordinates.
func (r *Round) IsCoordinator() bool { return r.coordinator == r.part.id }

// Size returns how many members the epoch has.
func (r *Round) Size() int { return r.size }

// Members returns the members of the epoch by id, which is the order in which they joined; not those that are gone.
// They are read when they are asked for first: a round that broadcasts only does without. They are shared and must not
// be changed.
func (r *Round) Members(ctx context.Context) ([]*Peer, error) {
	r.mu.Lock()
	peers := r.peers
	r.mu.Unlock()
	if peers != nil {
		return slices.Clone(peers), nil
	}
	ctx, cancel := object.Within(ctx, r.ctx)
	defer cancel()
	peers, err := r.readMembers(ctx)
	if err != nil {
		return nil, failed(OpDescribe, r.part.member.Name(), r.errorOf(err))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.peers = peers
	return slices.Clone(peers), nil
}

// Set keeps a value for as long as the round lasts: what one function of the handler leaves for the next.
func (r *Round) Set(key, value any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.values == nil {
		r.values = make(map[any]any)
	}
	r.values[key] = value
}

// Get returns a value that was Set, nil where none was.
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

// errorOf is the error of what a member tried: that its epoch is over, where that is so.
func (r *Round) errorOf(err error) error {
	if cause := r.over(); err != nil && cause != nil {
		return &Cancelled{Partial: Partial{Epoch: r.epoch}, Cause: cause}
	}
	return err
}

// over returns why the round is over for this member, nil where it is not. A process that stood still learns that its
// session is over by the clock before the round's context ends.
func (r *Round) over() error {
	if cause := context.Cause(r.ctx); cause != nil {
		return cause
	}
	return r.Membership().Err()
}
