package history

import (
	"math"
	"slices"
	"time"
)

// Time counts from the start of the recording.
type Time = time.Duration

// Never is the time of events that did not happen.
const Never Time = math.MaxInt64

// Semaphore names a semaphore. A node recreated under the same path needs a different name here.
type Semaphore struct {
	Node string `json:"node"`
	Name string `json:"name"`
}

// String returns both names.
func (s Semaphore) String() string { return s.Node + " " + s.Name }

// Kind is the kind of an operation.
type Kind string

// Operation kinds.
const (
	Acquire  Kind = "acquire"
	Change   Kind = "change" // reduces the count of an owned semaphore
	Release  Kind = "release"
	Create   Kind = "create"
	Update   Kind = "update"
	Delete   Kind = "delete"
	Describe Kind = "describe"
	Destroy  Kind = "destroy" // a session destroyed by an operator
	Drop     Kind = "drop"    // of a node
)

// Outcome is the result of an operation, as far as its client knows.
type Outcome string

// The outcomes.
const (
	// Done: took effect.
	Done Outcome = "done"
	// NotAcquired: an acquire was not granted in time.
	NotAcquired Outcome = "not acquired"
	// NotFound, Exists, Refused, Fenced: refused by a host, without effect.
	NotFound Outcome = "not found"
	Exists   Outcome = "exists"
	Refused  Outcome = "refused"
	Fenced   Outcome = "fenced"
	// OverQuota: refused by a host because of a quota (unknown to the model), without effect.
	OverQuota Outcome = "over quota"
	// Unknown: given up, or the session ended. The operation may have taken effect, or may do so later.
	Unknown Outcome = "unknown"
)

// Operation is a client request, from before sending until its client knew the outcome.
type Operation struct {
	Kind      Kind      `json:"kind"`
	Semaphore Semaphore `json:"semaphore"`
	// Session is the requesting session, 0 for none; for a destroy, the destroyed session.
	Session uint64 `json:"session,omitempty"`

	Count     uint64        `json:"count,omitempty"`    // for acquire and change
	Limit     uint64        `json:"limit,omitempty"`    // of a create
	Data      string        `json:"data,omitempty"`     // for create and update
	Guard     uint64        `json:"guard,omitempty"`    // expected order id of a release or update; 0 for none
	Revision  uint64        `json:"revision,omitempty"` // expected revision of an update; 0 for any
	Force     bool          `json:"force,omitempty"`    // of a delete
	Ephemeral bool          `json:"ephemeral,omitempty"`
	Wait      time.Duration `json:"wait,omitempty"` // acquire: 0 tries once, negative waits forever
	// Age is the maximum age of a description; 0 for STRICT.
	Age time.Duration `json:"age,omitempty"`

	Called   Time    `json:"called"`
	Returned Time    `json:"returned"`
	Outcome  Outcome `json:"outcome"`
	Error    string  `json:"error,omitempty"`

	// Queued is when the client learned that its acquire waits, 0 for never. Place is the order id in the queue, Order
	// the acquired or changed order id.
	Queued Time   `json:"queued,omitempty"`
	Place  uint64 `json:"place,omitempty"`
	Order  uint64 `json:"order,omitempty"`
	// Released: a release gave something back.
	Released bool `json:"released,omitempty"`
	// Found is the described state.
	Found *State `json:"found,omitempty"`
}

// State is a semaphore state.
type State struct {
	Exists   bool   `json:"exists"`
	Limit    uint64 `json:"limit,omitempty"`
	Data     string `json:"data,omitempty"`
	Revision uint64 `json:"revision,omitempty"`
	Owners   []Link `json:"owners,omitempty"`
	Waiters  []Link `json:"waiters,omitempty"`
}

// sameAs reports whether two states look equal to a watcher.
func (s *State) sameAs(other *State) bool {
	return s.Exists == other.Exists && s.Data == other.Data && slices.Equal(s.Owners, other.Owners)
}

// Link is a session's ownership or queue position.
type Link struct {
	Session uint64 `json:"session"`
	Order   uint64 `json:"order"`
	Count   uint64 `json:"count"`
}

// Hold is an interval in which a client believed that a session owned a semaphore.
type Hold struct {
	Semaphore Semaphore `json:"semaphore"`
	Session   uint64    `json:"session"`
	Order     uint64    `json:"order"`
	Count     uint64    `json:"count"`
	From      Time      `json:"from"`
	To        Time      `json:"to"`
	Why       string    `json:"why,omitempty"` // it ended
}

// Write is a write to an external store that a semaphore guards with fencing tokens.
type Write struct {
	Semaphore Semaphore `json:"semaphore"`
	Order     uint64    `json:"order"` // the token
	At        Time      `json:"at"`
	// Believed: the writer believed in its lease at that time. Some writers write late on purpose.
	Believed bool `json:"believed,omitempty"`
	Accepted bool `json:"accepted,omitempty"`
}

// Numbered is a request with a sequence number from its session, possibly repeated, and the result of a STRICT read
// right before or after the request. The session lived throughout.
type Numbered struct {
	Semaphore Semaphore `json:"semaphore"`
	Session   uint64    `json:"session"`
	Number    uint64    `json:"number"`
	Kind      Kind      `json:"kind"` // Acquire or Release
	At        Time      `json:"at"`   // its answer came
	// From is before the request and the reading, To after both.
	From Time `json:"from,omitempty"`
	To   Time `json:"to,omitempty"`
	// Order is the order id in an acquire's answer, Owns the session's order id in the subsequent read.
	Order uint64 `json:"order,omitempty"`
	Owns  uint64 `json:"owns,omitempty"`
	// Held is the session's order id before a release that was answered with "nothing found".
	Held uint64 `json:"held,omitempty"`
}

// View is a state shown to a streaming watch.
type View struct {
	Watcher   int       `json:"watcher"`
	Semaphore Semaphore `json:"semaphore"`
	At        Time      `json:"at"`
	State     State     `json:"state"` // without waiters
	// Broken is the disagreement between the received changes and the previous view, empty if none.
	Broken string `json:"broken,omitempty"`
}

// End says why a session ended.
type End string

// Reasons for session ends.
const (
	Closed  End = "closed"  // by its user
	Silent  End = "silence" // given up by its client's own clock
	Expired End = "expired" // reported by a host while its client still believed
	Ended   End = "ended"   // by an operator, or with its node
)

// Session is a session's lifetime, as seen by its client.
type Session struct {
	ID      uint64        `json:"id"`
	Client  int           `json:"client"`
	Node    string        `json:"node"`
	Timeout time.Duration `json:"timeout"`
	From    Time          `json:"from"`
	To      Time          `json:"to"` // Never, if still alive
	End     End           `json:"end,omitempty"`
	Detail  string        `json:"detail,omitempty"`
}

// Fault is an interval with a fault.
type Fault struct {
	From Time   `json:"from"`
	To   Time   `json:"to"`
	What string `json:"what"`
	// Client is the only affected client; negative if any client may be affected.
	Client int `json:"client"`
}

// Final is a semaphore's final state, long after all faults and programs ended.
type Final struct {
	Semaphore Semaphore `json:"semaphore"`
	At        Time      `json:"at"`
	State     State     `json:"state"`
	// Watchers are the semaphore's remaining watchers.
	Watchers []int `json:"watchers,omitempty"`
}

// History is the complete record.
type History struct {
	// Title describes the test and how to repeat it.
	Title      string        `json:"title"`
	Grace      time.Duration `json:"grace"` // longest grace period among nodes
	Operations []Operation   `json:"-"`
	Holds      []Hold        `json:"-"`
	Writes     []Write       `json:"-"`
	Views      []View        `json:"-"`
	Sessions   []Session     `json:"-"`
	Faults     []Fault       `json:"-"`
	Finals     []Final       `json:"-"`
	Numbered   []Numbered    `json:"-"`
	// Requests, Targets and Rollouts are about rollouts.
	Requests []Request      `json:"-"`
	Targets  []Target       `json:"-"`
	Rollouts []RolloutFinal `json:"-"`
	// Calls, Exchanges, Changes and Processes are about coordination processes.
	Calls     []ProcessCall   `json:"-"`
	Exchanges []Exchange      `json:"-"`
	Changes   []ProcessChange `json:"-"`
	Processes []ProcessFinal  `json:"-"`
	// Notes are findings reported by recording clients and tests.
	Notes []string `json:"notes,omitempty"`
	// Restored is set if the cluster was replaced by a cluster restored from its backup.
	Restored *Restoration `json:"restored,omitempty"`
	// Recoveries are the shards rebuilt after losing their majority.
	Recoveries []Recovery `json:"recoveries,omitempty"`
}
