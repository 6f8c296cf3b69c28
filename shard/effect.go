package shard

import (
	"strconv"

	"github.com/signalbox/signalbox/protocol"
)

// EffectKind says what an effect is about.
type EffectKind uint8

const (
	// EffectResult answers the command at index Op of the batch: Status, and what its kind returns.
	// There is exactly one for every command. Acquire: FlagAcquired or FlagQueued or neither, Order, Limit.
	// Release: FlagReleased. Create, update and resize: Revision. SessionCreate: Session. SessionNumbers: Number.
	// NodeDrop, Continue, and what names a list: FlagMore.
	EffectResult EffectKind = 1
	// EffectGranted: the waiting acquire (Session, Number) became an owner; Order is its token.
	EffectGranted EffectKind = 2
	// EffectAborted: the waiting acquire (Session, Number) was overtaken; Abort says by what.
	EffectAborted EffectKind = 3
	// EffectTimedOut: the waiting acquire (Session, Number) was not granted in time.
	EffectTimedOut EffectKind = 4
	// EffectLost: Session owned the semaphore, with Order, or had a part in the object of the kind Object, and it was
	// deleted by force, or the part was ended by another. Body is a text for people that says why, where the kind has
	// one.
	EffectLost EffectKind = 5
	// EffectChanged: watchers of the object may want to know: FlagData, FlagOwners, FlagCreated,
	// FlagDeleted, FlagLimit, and the new Revision. Object is its kind.
	EffectChanged EffectKind = 6
	// EffectSessionEnded: Session is over; End says why. It comes before what its end releases.
	EffectSessionEnded EffectKind = 7
	// EffectSessionSeen: a Session whose home is another shard appeared here for the first time. The
	// leader asks the session directory whether it lives.
	EffectSessionSeen EffectKind = 8
	// EffectNodeSeen: Node got its first session or object here. The leader asks the meta shard
	// whether it still exists.
	EffectNodeSeen EffectKind = 9
	// EffectInbox: Session, by its link with Order to the object of the kind Object, has something to read in its
	// inbox that it has not acknowledged. Who leads the shard pushes it.
	EffectInbox EffectKind = 10
)

// EffectFlags refine an effect.
type EffectFlags uint16

const (
	// FlagAcquired: the caller owns what it asked for.
	FlagAcquired EffectFlags = 1 << 0
	// FlagQueued: the caller waits; a Granted, Aborted or TimedOut will follow.
	FlagQueued EffectFlags = 1 << 1
	// FlagReleased: there was something to release.
	FlagReleased EffectFlags = 1 << 2
	// FlagData: the semaphore's data may have changed.
	FlagData EffectFlags = 1 << 3
	// FlagOwners: the semaphore's owners may have changed.
	FlagOwners EffectFlags = 1 << 4
	// FlagCreated: the object is new.
	FlagCreated EffectFlags = 1 << 5
	// FlagDeleted: the object is gone.
	FlagDeleted EffectFlags = 1 << 6
	// FlagMore: the command did a part; propose it again for the rest.
	FlagMore EffectFlags = 1 << 7
	// FlagLimit: the semaphore's limit changed.
	FlagLimit EffectFlags = 1 << 8
)

// Effect is one thing that applying a batch brought about. Which fields count depends on Kind; the
// others are zero.
type Effect struct {
	Kind     EffectKind
	Flags    EffectFlags
	Status   protocol.Status
	Abort    protocol.AbortReason
	End      protocol.EndReason
	Object   ObjectKind // of what changed
	Quota    Quota      // which one stood in the way of what was refused with StatusQuotaExceeded
	Op       int32      // index of the command in its batch
	Node     NodeID
	Name     string
	Session  SessionID
	Number   uint64
	Order    OrderID
	Revision Revision
	// Limit is what a persistent semaphore had as its limit when an acquire was carried out.
	Limit uint64
	// Timeout is the time that a queued acquire may wait, in milliseconds or Forever, so that the
	// leader can set its timer.
	Timeout uint64
	// Body is what a Result answers in the form of the command's kind, which is kept with the answer; or why the
	// session has Lost.
	Body string
}

// Effects collects what a batch brought about, in order. Reset keeps the memory, but for that of a burst.
type Effects struct {
	List []Effect
}

// next makes the list longer by one, and returns that one, whatever it holds.
func (e *Effects) next() *Effect {
	n := len(e.List)
	if n == cap(e.List) {
		e.List = append(e.List, Effect{})
	} else {
		e.List = e.List[:n+1]
	}
	return &e.List[n]
}

// keptEffects is for how many effects the memory is kept: more than what a batch of a busy shard brings about.
const keptEffects = 16_384

// Reset empties the list for the next batch.
func (e *Effects) Reset() {
	if cap(e.List) > keptEffects {
		e.List = nil
		return
	}
	clear(e.List) // so that names do not outlive what they named
	e.List = e.List[:0]
}

var effectNames = [...]string{
	EffectResult:       "result",
	EffectGranted:      "granted",
	EffectAborted:      "aborted",
	EffectTimedOut:     "timed-out",
	EffectLost:         "lost",
	EffectChanged:      "changed",
	EffectSessionEnded: "session-ended",
	EffectSessionSeen:  "session-seen",
	EffectNodeSeen:     "node-seen",
	EffectInbox:        "inbox",
}

// String returns the kind as logs and golden scripts write it.
func (k EffectKind) String() string {
	if int(k) < len(effectNames) && effectNames[k] != "" {
		return effectNames[k]
	}
	return "effect-" + strconv.Itoa(int(k))
}
