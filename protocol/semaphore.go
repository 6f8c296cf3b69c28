package protocol

// Semaphore is a semaphore without its owners and waiters.
type Semaphore struct {
	Name  []byte `wire:"text MaxNameBytes"`
	Limit uint64
	// Count is how many units of the limit are owned.
	Count    uint64
	Revision uint64
	// Owners and Waiters are the numbers of owners and waiters.
	Owners    uint64
	Waiters   uint64
	Ephemeral bool
	Data      []byte `wire:"data"`
}

// Semaphores is a list of semaphores.
type Semaphores = List[Semaphore, *Semaphore]

// Mutation ensures that a change happens exactly once, however often the request is sent. Every request that changes a
// semaphore begins with a Mutation.
type Mutation struct {
	// SessionID is the acting session. 0 means no session: allowed for creating, updating, resizing and deleting a
	// semaphore, with Sequence 0. Without a session, the host treats a retry as a new request.
	SessionID uint64
	// Sequence grows with every mutation by the session, whichever semaphore and shard the mutation is for.
	Sequence uint64
	// AcknowledgedSequence confirms that the client has the answers to all mutations up to this sequence.
	AcknowledgedSequence uint64
}

// Header returns the mutation itself: the sender of a MutationMessage sets the sequence there.
func (m *Mutation) Header() *Mutation { return m }

// MutationMessage is a request that begins with a Mutation.
type MutationMessage interface {
	RequestMessage
	Header() *Mutation
}

// SemaphoreCreate creates a persistent semaphore.
type SemaphoreCreate struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	// Limit is how many units may be owned at the same time; at least 1.
	Limit uint64
	Data  []byte `wire:"data"`
}

// SemaphoreCreateAnswer answers a SemaphoreCreate.
type SemaphoreCreateAnswer struct {
	Revision uint64
}

// SemaphoreUpdate replaces a semaphore's data. The session need not own the semaphore.
type SemaphoreUpdate struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	Data   []byte `wire:"data"`
	// OrderID, if not 0, is the fencing token: the update is refused unless the session owns the semaphore under that
	// order id.
	OrderID uint64
	// ExpectedRevision, if not 0, must be the semaphore's revision; otherwise the update is refused.
	ExpectedRevision uint64
}

// SemaphoreUpdateAnswer answers a SemaphoreUpdate.
type SemaphoreUpdateAnswer struct {
	// Revision is the semaphore's revision after the update. Equal data leave the revision unchanged.
	Revision uint64
}

// SemaphoreResize changes a persistent semaphore's limit. A higher limit grants the waiters that fit; a lower limit
// takes nothing away, and takes effect as owners release.
type SemaphoreResize struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	// Limit is the new limit; at least 1.
	Limit uint64
	// ExpectedRevision, if not 0, must be the semaphore's revision; otherwise the resize is refused.
	ExpectedRevision uint64
}

// SemaphoreResizeAnswer answers a SemaphoreResize.
type SemaphoreResizeAnswer struct {
	// Revision is the semaphore's revision after the resize. An equal limit leaves the revision unchanged.
	Revision uint64
}

// SemaphoreDelete deletes a persistent semaphore.
type SemaphoreDelete struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	// Force deletes the semaphore even if it has owners or waiters. Their sessions are notified.
	Force bool
}

// SemaphoreDeleteAnswer answers a SemaphoreDelete.
type SemaphoreDeleteAnswer struct{}

// SemaphoreList asks for the node's semaphores with names that begin with Prefix, sorted by name.
type SemaphoreList struct {
	NodeID  uint64
	ShardID uint64
	Prefix  []byte `wire:"text MaxNameBytes"`
	// After is the previous page's Next; empty for the first page.
	After []byte `wire:"text MaxNameBytes"`
	// Limit is the maximum number of semaphores on the page; 0 lets the host choose.
	Limit uint64
	// IncludeData asks for the semaphores' data.
	IncludeData bool
	Consistency Consistency
	ListSlots
}

// SemaphoreListAnswer answers a SemaphoreList.
type SemaphoreListAnswer struct {
	Semaphores Semaphores
	// Next is the start of the next page; empty on the last page.
	Next []byte `wire:"text MaxNameBytes"`
	// Missing lists the requested slots that the shard does not have.
	Missing SlotRanges
}
