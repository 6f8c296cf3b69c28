package shard

// LinkView is an owner or a waiter, for readers.
type LinkView struct {
	Order   OrderID
	Session SessionID
	Count   uint64
	Timeout uint64 // for waiters: milliseconds or Forever
	Data    string
	Owner   bool
	Since   uint64 // start of ownership, or of the wait: wall clock, milliseconds since 1970; 0 if unknown
}

// DescribeOptions select the lists that Describe returns besides the object itself.
type DescribeOptions struct {
	Owners  bool    // for a semaphore
	Waiters bool    // for a semaphore
	Rows    bool    // for a view of a kind other than semaphores
	After   OrderID // only entries after this order id, or row id: the previous page's end
	Limit   int     // page size, never more than MaxPage; zero means MaxPage
}

// Description is one page that describes an object; the name is the Ref's name. Pages with the same Revision show the
// same owners, or rows. If the revision differs between pages, start over to see a consistent state.
//
// A view for a kind other than semaphores has Name, Revision, Rows, and its head as Data.
type Description struct {
	SemaphoreView
	Links []LinkView // owners, then waiters, both by order id
	Rows  []Row      // by id; valid until the Description is reused
	More  bool       // more entries follow the last of Links, or of Rows

	Bodies []byte // memory for Rows
}

// SemaphoreView is a semaphore, for readers.
type SemaphoreView struct {
	Name      string
	Data      string
	Limit     uint64
	Count     uint64 // the sum of the owners' counts
	Ephemeral bool
	Revision  Revision
	Owners    int
	Waiters   int
}

// PartOptions select an object part and a page.
type PartOptions struct {
	Part  string // a view, or another part the kind defines
	After uint64 // only rows after this number: the previous page's end
	Limit int    // page size, never more than MaxPage; zero means MaxPage
	Why   bool   // include why the object is stalled
	// Now is the leader's estimate of shard time, if known. On an idle shard the log's time can be seconds old.
	Now uint64
}

// PartPage is one page that describes an object part.
type PartPage struct {
	// Revision is the view's revision; for other parts, the object's revision.
	Revision Revision
	Now      uint64 // shard time
	Head     []byte // in the part's encoding; empty for parts without a head
	Rows     []Row
	More     bool // more rows follow the last row
}

// Found is the result of looking up a part.
type Found uint8

// Neither the object nor the part exists, or only the object exists, or both exist.
const (
	FoundNothing Found = iota
	FoundObject
	FoundPart
)
