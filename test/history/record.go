package history

import (
	"math"
	"slices"
	"time"
)

// Time is a moment, counted from the beginning of the recording.
type Time = time.Duration

// Never is the moment of what has not happened.
const Never Time = math.MaxInt64

// Semaphore names a semaphore. A node that is made again under the same path must have another name here.
type Semaphore struct {
	Node string `json:"node"`
	Name string `json:"name"`
}

// String returns both names.
func (s Semaphore) String() string { return s.Node + " " + s.Name }

// Kind says what an operation asks for.
type Kind string

// The kinds of operations.
const (
	Acquire  Kind = "acquire"
	Change   Kind = "change" // of what the session owns already: count becomes smaller
	Release  Kind = "release"
	Create   Kind = "create"
	Update   Kind = "update"
	Delete   Kind = "delete"
	Describe Kind = "describe"
	Destroy  Kind = "destroy" // of a session, by an operator
	Drop     Kind = "drop"    // of a node
)

// Outcome says what became of an operation, as far as its client knows.
type Outcome string

// The outcomes.
const (
	// Done: it took effect.
	Done Outcome = "done"
	// NotAcquired: an acquire was not granted in its time.
	NotAcquired Outcome = "not acquired"
	// NotFound, Exists, Refused, Fenced: a host refused it, and it had no effect.
	NotFound Outcome = "not found"
	Exists   Outcome = "exists"
	Refused  Outcome = "refused"
	Fenced   Outcome = "fenced"
	// OverQuota: a host refused it because of a quota, which the model knows nothing of, and it had no effect.
	OverQuota Outcome = "over quota"
	// Unknown: it was given up, or its session ended. It may have had an effect, or have one later.
	Unknown Outcome = "unknown"
)

// Operation is one request of a client, from before it was sent until its client knew the outcome.
type Operation struct {
	Kind      Kind      `json:"kind"`
	Semaphore Semaphore `json:"semaphore"`
	// Session is the session that asks, 0 for none; of a destroy, the session that it ends.
	Session uint64 `json:"session,omitempty"`

	Count     uint64        `json:"count,omitempty"`    // of an acquire or a change
	Limit     uint64        `json:"limit,omitempty"`    // of a create
	Data      string        `json:"data,omitempty"`     // of a create or an update
	Guard     uint64        `json:"guard,omitempty"`    // order id that a release or an update is for; 0 for none
	Revision  uint64        `json:"revision,omitempty"` // that an update is to replace; 0 for any
	Force     bool          `json:"force,omitempty"`    // of a delete
	Ephemeral bool          `json:"ephemeral,omitempty"`
	Wait      time.Duration `json:"wait,omitempty"` // of an acquire: 0 is a try, negative for ever
	// Age is how much older than the request a description may be; 0 for a STRICT one.
	Age time.Duration `json:"age,omitempty"`

	Called   Time    `json:"called"`
	Returned Time    `json:"returned"`
	Outcome  Outcome `json:"outcome"`
	Error    string  `json:"error,omitempty"`

	// Queued is when the client heard that its acquire waits, 0 for never, and Place the order id of its place
	// in the queue. Order is that of what was acquired or changed.
	Queued Time   `json:"queued,omitempty"`
	Place  uint64 `json:"place,omitempty"`
	Order  uint64 `json:"order,omitempty"`
	// Released: a release gave something back.
	Released bool `json:"released,omitempty"`
	// Found is what a description showed.
	Found *State `json:"found,omitempty"`
}

// State is a semaphore at one moment.
type State struct {
	Exists   bool   `json:"exists"`
	Limit    uint64 `json:"limit,omitempty"`
	Data     string `json:"data,omitempty"`
	Revision uint64 `json:"revision,omitempty"`
	Owners   []Link `json:"owners,omitempty"`
	Waiters  []Link `json:"waiters,omitempty"`
}

// sameAs reports whether two states show the same to a watcher.
func (s *State) sameAs(other *State) bool {
	return s.Exists == other.Exists && s.Data == other.Data && slices.Equal(s.Owners, other.Owners)
}

// Link is what a session owns of a semaphore, or waits for.
type Link struct {
	Session uint64 `json:"session"`
	Order   uint64 `json:"order"`
	Count   uint64 `json:"count"`
}

// Hold is a time in which a client believed that a session owned something.
type Hold struct {
	Semaphore Semaphore `json:"semaphore"`
	Session   uint64    `json:"session"`
	Order     uint64    `json:"order"`
	Count     uint64    `json:"count"`
	From      Time      `json:"from"`
	To        Time      `json:"to"`
	Why       string    `json:"why,omitempty"` // it ended
}

// Write is a write to something outside that a semaphore guards and that checks fencing tokens.
type Write struct {
	Semaphore Semaphore `json:"semaphore"`
	Order     uint64    `json:"order"` // the token
	At        Time      `json:"at"`
	// Believed: the writer believed in its lease in the same moment. Other writers write late on purpose.
	Believed bool `json:"believed,omitempty"`
	Accepted bool `json:"accepted,omitempty"`
}

// Numbered is a request under a number that its session gave it, maybe for a second time, and what a STRICT read showed
// right before or behind it. Its session lived from before the request until after the read.
type Numbered struct {
	Semaphore Semaphore `json:"semaphore"`
	Session   uint64    `json:"session"`
	Number    uint64    `json:"number"`
	Kind      Kind      `json:"kind"` // Acquire or Release
	At        Time      `json:"at"`   // its answer came
	// From is before the request and the reading, To after both.
	From Time `json:"from,omitempty"`
	To   Time `json:"to,omitempty"`
	// Order is that under which an acquire was answered as acquired, Owns that under which the session owned the
	// semaphore behind it.
	Order uint64 `json:"order,omitempty"`
	Owns  uint64 `json:"owns,omitempty"`
	// Held is the order id under which the session owned the semaphore before a release that was answered as having
	// found nothing.
	Held uint64 `json:"held,omitempty"`
}

// View is what a loop over a streaming watch was shown.
type View struct {
	Watcher   int       `json:"watcher"`
	Semaphore Semaphore `json:"semaphore"`
	At        Time      `json:"at"`
	State     State     `json:"state"` // without waiters
	// Broken says how the changes that came with it disagree with the view before, empty if they do not.
	Broken string `json:"broken,omitempty"`
}

// End says why a session ended.
type End string

// The ends of sessions.
const (
	Closed  End = "closed"  // by its own user
	Silent  End = "silence" // its client gave up by its own clock
	Expired End = "expired" // a host said so, though its client still believed
	Ended   End = "ended"   // by an operator, or with its node
)

// Session is a session from its beginning to its end, as its client saw it.
type Session struct {
	ID      uint64        `json:"id"`
	Client  int           `json:"client"`
	Node    string        `json:"node"`
	Timeout time.Duration `json:"timeout"`
	From    Time          `json:"from"`
	To      Time          `json:"to"` // Never for one that has not ended
	End     End           `json:"end,omitempty"`
	Detail  string        `json:"detail,omitempty"`
}

// Fault is a time in which something was wrong.
type Fault struct {
	From Time   `json:"from"`
	To   Time   `json:"to"`
	What string `json:"what"`
	// Client is the client that alone is disturbed by it; negative where any may be.
	Client int `json:"client"`
}

// Final is the state of a semaphore in the end, when the faults had been over for long and no program worked any more.
type Final struct {
	Semaphore Semaphore `json:"semaphore"`
	At        Time      `json:"at"`
	State     State     `json:"state"`
	// Watchers are those of the semaphore that were still there.
	Watchers []int `json:"watchers,omitempty"`
}

// History is everything that was recorded.
type History struct {
	// Title says what it is a history of, and how to repeat it.
	Title      string        `json:"title"`
	Grace      time.Duration `json:"grace"` // the longest that any node had
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
	// Notes are the findings of those that recorded.
	Notes []string `json:"notes,omitempty"`
	// Restored is set where the cluster was replaced by one that was made of its backup.
	Restored *Restoration `json:"restored,omitempty"`
	// Recoveries are the shards that had lost their majority and were made anew.
	Recoveries []Recovery `json:"recoveries,omitempty"`
}
