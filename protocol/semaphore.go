package protocol

// Semaphore is a semaphore without its owners and waiters.
type Semaphore struct {
	Name  []byte `wire:"text MaxNameBytes"`
	Limit uint64
	// Count is the owned part of the limit.
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

// Mutation makes a change happen exactly once, however often the request is sent. Every request that changes a
// semaphore begins with a Mutation.
type Mutation struct {
	// SessionID is the acting session. 0 is no session: allowed for creating, updating, resizing and deleting a
	// semaphore, with Sequence 0. A repetition of a request without a session is a new request to the host.
	SessionID uint64
	// Sequence grows with every mutation of the session, whichever semaphore and shard the mutation is for.
	Sequence uint64
	// AcknowledgedSequence says that the client has the answers of all mutations up to this sequence.
	AcknowledgedSequence uint64
}

// Header returns the mutation itself: who sends a MutationMessage sets the sequence there.
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
	// Limit is how much may be owned at the same time; at least 1.
	Limit uint64
	Data  []byte `wire:"data"`
}

// SemaphoreCreateAnswer answers a SemaphoreCreate.
type SemaphoreCreateAnswer struct {
	Revision uint64
}

// SemaphoreUpdate replaces the data of a semaphore. The session need not own the semaphore.
type SemaphoreUpdate struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	Data   []byte `wire:"data"`
	// OrderID, if not 0, is the fencing token: the update is refused unless the session owns the semaphore under that
	// order id.
	OrderID uint64
	// ExpectedRevision, if not 0, is compared: the update is refused unless the semaphore has the revision.
	ExpectedRevision uint64
}

// SemaphoreUpdateAnswer answers a SemaphoreUpdate.
type SemaphoreUpdateAnswer struct {
	// Revision is the semaphore's revision after the update. Equal data leave the revision as before.
	Revision uint64
}

// SemaphoreResize changes the limit of a persistent semaphore. A higher limit grants the waiters that fit; a lower
// limit takes nothing away, and takes effect as owners give back.
type SemaphoreResize struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	// Limit is the new limit; at least 1.
	Limit uint64
	// ExpectedRevision, if not 0, is compared: the resize is refused unless the semaphore has the revision.
	ExpectedRevision uint64
}

// SemaphoreResizeAnswer answers a SemaphoreResize.
type SemaphoreResizeAnswer struct {
	// Revision is the semaphore's revision after the resize. An equal limit leaves the revision as before.
	Revision uint64
}

// SemaphoreDelete deletes a persistent semaphore.
type SemaphoreDelete struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	// Force deletes the semaphore though sessions own or wait for the semaphore. The sessions are notified.
	Force bool
}

// SemaphoreDeleteAnswer answers a SemaphoreDelete.
type SemaphoreDeleteAnswer struct{}

// SemaphoreList asks one shard for the semaphores of a node whose name begins with Prefix, ordered by name. All
// semaphores of a node are the lists of all data shards.
type SemaphoreList struct {
	NodeID  uint64
	ShardID uint64
	Prefix  []byte `wire:"text MaxNameBytes"`
	// After is the Next of the page before; empty for the first page.
	After []byte `wire:"text MaxNameBytes"`
	// Limit is the most semaphores that the page may have; 0 leaves the choice to the host.
	Limit uint64
	// IncludeData asks for the semaphores' data.
	IncludeData bool
	Consistency Consistency
}

// SemaphoreListAnswer answers a SemaphoreList.
type SemaphoreListAnswer struct {
	Semaphores Semaphores
	// Next is the start of the next page; empty on the last page.
	Next []byte `wire:"text MaxNameBytes"`
}
