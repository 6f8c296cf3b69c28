package shard

// LinkView is an owner or a waiter for readers.
type LinkView struct {
	Order   OrderID
	Session SessionID
	Count   uint64
	Timeout uint64 // of waiters: milliseconds or Forever
	Data    string
	Owner   bool
	Since   uint64 // start of the ownership, or of the wait: wall clock, milliseconds since 1970; 0 if unknown
}

// DescribeOptions choose the lists of a Describe besides the object itself.
type DescribeOptions struct {
	Owners  bool    // of a semaphore
	Waiters bool    // of a semaphore
	Rows    bool    // of a view of a kind other than semaphores
	After   OrderID // only entries behind the order id, or behind the id of a row: the end of the page before
	Limit   int     // at most so many, and never more than MaxPage; zero means MaxPage
}

// Description is one page of the description of an object; the name is the name of the Ref. Pages of the same
// Revision show the same owners, or rows. If the revision differs from page to page, begin again to see one moment.
//
// A view of a kind other than semaphores has Name, Revision, Rows, and its head as Data.
type Description struct {
	SemaphoreView
	Links []LinkView // owners, then waiters, both in order of order id
	Rows  []Row      // by id; good until the Description is used again
	More  bool       // a further page is behind the last of Links, or of Rows

	Bodies []byte // the memory of Rows
}

// SemaphoreView is a semaphore for readers.
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

// PartOptions choose a part of an object and a page.
type PartOptions struct {
	Part  string // a view, or a further part of the kind
	After uint64 // only rows behind the number: the end of the page before
	Limit int    // at most so many rows, and never more than MaxPage; zero means MaxPage
	Why   bool   // why the object does not move
	// Now is the leader's estimate of the shard's time, if known. On an idle shard the time by the log can be seconds
	// old.
	Now uint64
}

// PartPage is one page of the description of a part of an object.
type PartPage struct {
	// Revision is the revision of a view; for a further part, the revision of the object.
	Revision Revision
	Now      uint64 // the time of the shard
	Head     []byte // in the record of the part; empty for parts without a head
	Rows     []Row
	More     bool // a further page is behind the last row
}

// Found is the outcome of the search for a part.
type Found uint8

// The object of the kind and name is missing, or only the part is missing, or both are there.
const (
	FoundNothing Found = iota
	FoundObject
	FoundPart
)
