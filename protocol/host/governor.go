package host

import "time"

// Step is a governor step, open or next to begin.
type Step struct {
	ID      uint64        // 0 if the step is not open
	Kind    string        `wire:"kind MaxWord"`                // a word, such as "promote"
	Text    string        `name:"message" wire:"text MaxLong"` // the whole step in words
	Rule    string        `wire:"rule MaxWord"`                // the rule that wants the step; unknown for an open step
	Subject string        `wire:"subject MaxSubject"`          // the governor begins no other step on it meanwhile
	Shard   uint64        `omit:"zero" wire:"shard_id"`        // 0 for the meta shard, and for a step about no shard
	Host    uint64        `wire:"host_id"`                     // 0 for none
	In      time.Duration `name:"starts_in"`                   // time until the step would begin
	// The following fields are for open steps. Age is how long the step has been open, Failures how often it has
	// failed, LastError the latest error, and Wait the time until the next attempt.
	Age       time.Duration
	Failures  int
	LastError string        `wire:"last_error MaxText"`
	Wait      time.Duration `name:"retry_in"`
}

// Reason is why the governor does not act.
type Reason struct {
	Code     string   `wire:"code MaxWord"`                // for programs
	Text     string   `name:"message" wire:"text MaxLong"` // for people; the text includes everything in the other fields
	Rule     string   `wire:"rule MaxWord"`
	Subjects []string `wire:"subjects maxSubjects MaxSubject"` // such as "shard/3", "host/2"
	// Since is how long the reason has held, Left the time until it ends automatically; 0 if unknown.
	Since time.Duration `name:"age" wire:"age_ms"`
	Left  time.Duration `name:"remaining"`
}

const maxSubjects = 64 // per reason

// SlotMove is an unfinished move of a slot to another shard, ordered by an operator or begun by rebalancing.
type SlotMove struct {
	Slot       uint64        `omit:"never"`
	From       uint64        `wire:"from_shard_id"` // the shard that owns the slot
	To         uint64        `wire:"to_shard_id"`   // the new shard; 0 if the order was cancelled during an attempt
	Into       uint64        `wire:"into_shard_id"` // target of the attempt in progress; 0 if there is none
	Generation uint64        // number of the attempt in progress
	Large      bool          // a slot above the size limit is allowed
	Author     string        `name:"author" wire:"author MaxText"`
	Reason     string        `name:"reason" wire:"reason MaxText"`
	Age        time.Duration // how long ago the move was ordered
	// Failures is how many attempts have failed, LastError why the latest one has failed, and Wait the time until the
	// next attempt.
	Failures  int
	LastError string        `wire:"last_error MaxText"`
	Wait      time.Duration `name:"retry_in"`
}

// ShardSlots is a data shard with its weight and its number of slots.
type ShardSlots struct {
	ID     uint64
	Phase  string `wire:"phase MaxWord"` // serving, added, leaving or retired
	Weight uint64 `omit:"never"`
	Slots  int    `omit:"never"` // slots that the shard owns
	Target int    `omit:"never"` // slots that the shard should own by its weight
}

// PlannedMoves are slots that are still to move from one shard to another.
type PlannedMoves struct {
	From  uint64 `wire:"from_shard_id"`
	To    uint64 `wire:"to_shard_id"`
	Slots int
}
