package shard

import (
	"strconv"

	"github.com/signalbox/signalbox/protocol"
)

// EffectKind identifies an effect type.
type EffectKind uint8

const (
	// EffectResult answers the command at index Op in the batch: Status, and the results for the command's kind. Every
	// command has exactly one result. Acquire: FlagAcquired or FlagQueued or neither, Order, Limit. Release:
	// FlagReleased. Create, update and resize: Revision. SessionCreate: Session. SessionNumbers: Number. NodeDrop,
	// Continue, and commands with a list: FlagMore.
	EffectResult EffectKind = 1
	// EffectGranted: the waiting acquire (Session, Number) became an owner; Order is the token.
	EffectGranted EffectKind = 2
	// EffectAborted: the waiting acquire (Session, Number) was overtaken; Abort is the reason.
	EffectAborted EffectKind = 3
	// EffectTimedOut: the waiting acquire (Session, Number) was not granted in time.
	EffectTimedOut EffectKind = 4
	// EffectLost: Session owned the semaphore, with Order, or took part in the object with kind Object. The object was
	// deleted by force, or another client's command ended the participation. Body is a text for people with the reason,
	// if the kind gives a reason.
	EffectLost EffectKind = 5
	// EffectChanged: an object changed, which its watchers may want to know: FlagData, FlagOwners, FlagCreated,
	// FlagDeleted, FlagLimit, and the new Revision. Object is its kind.
	EffectChanged EffectKind = 6
	// EffectSessionEnded: Session is over; End is the reason. The effect precedes the releases of the session's
	// holdings.
	EffectSessionEnded EffectKind = 7
	// EffectSessionSeen: a remote session, with its home in a different shard, appeared here for the first time. The
	// leader asks the session directory whether the session is alive.
	EffectSessionSeen EffectKind = 8
	// EffectNodeSeen: Node got its first session or object here. The leader asks the meta shard whether the node
	// still exists.
	EffectNodeSeen EffectKind = 9
	// EffectInbox: Session's holding with Order, on an object with kind Object, has unacknowledged messages in its
	// inbox. The shard's leader pushes them.
	EffectInbox EffectKind = 10
	// EffectSlotLeft: the content of Slot has left the shard. The slot's sessions, watches and waiting requests go to
	// another shard.
	EffectSlotLeft EffectKind = 11
	// EffectSlotArrived: the content of Slot is in the shard, from another shard or back. The slot's sessions are at
	// home here from now on.
	EffectSlotArrived EffectKind = 12
	// EffectCheckHoldings: Session has arrived at home, and had lost Limit holdings here while it was remote. The
	// leader has the client check its holdings.
	EffectCheckHoldings EffectKind = 13
	// EffectSlotsChanged: the shard owns Slot under another generation, or has given up a slot without content.
	//
	// This effect, EffectSlotLeft and EffectSlotArrived have the new change count in Number.
	EffectSlotsChanged EffectKind = 14
)

// EffectFlags refine an effect.
type EffectFlags uint16

const (
	// FlagAcquired: the caller is an owner now.
	FlagAcquired EffectFlags = 1 << 0
	// FlagQueued: the caller waits; a Granted, Aborted or TimedOut will follow.
	FlagQueued EffectFlags = 1 << 1
	// FlagReleased: there was an owner or a waiter to release.
	FlagReleased EffectFlags = 1 << 2
	// FlagData: the semaphore's data may have changed.
	FlagData EffectFlags = 1 << 3
	// FlagOwners: the semaphore's owners may have changed.
	FlagOwners EffectFlags = 1 << 4
	// FlagCreated: the object is new.
	FlagCreated EffectFlags = 1 << 5
	// FlagDeleted: the object is gone.
	FlagDeleted EffectFlags = 1 << 6
	// FlagMore: the command did a part; propose the command again for the rest.
	FlagMore EffectFlags = 1 << 7
	// FlagLimit: the semaphore's limit changed.
	FlagLimit EffectFlags = 1 << 8
)

// Effect is one effect from applying a batch. Which fields count depends on Kind; the rest are zero.
type Effect struct {
	Kind     EffectKind
	Flags    EffectFlags
	Status   protocol.Status
	Abort    protocol.AbortReason
	End      protocol.EndReason
	Object   ObjectKind // the changed object's kind
	Quota    Quota      // the quota that caused a refusal with StatusQuotaExceeded
	Slot     Slot
	Op       int32 // the command's index in its batch
	Node     NodeID
	Name     string
	Session  SessionID
	Number   uint64
	Order    OrderID
	Revision Revision
	// Limit is a persistent semaphore's limit at the time of an acquire. In an EffectLost for a remote session, Limit
	// is the session's loss count.
	Limit uint64
	// Timeout is how long the shard grants nothing, in milliseconds, in a refusal with StatusOverloaded.
	Timeout uint64
	// Body is the answer in an EffectResult, encoded by the command's kind, and is kept with the answer; in an
	// EffectLost, Body is the reason for the loss.
	Body string
}

// Effects collects a batch's effects, in order. Reset keeps the memory, except after a burst.
type Effects struct {
	List []Effect
}

// keptEffects is the number of effects for which memory is kept: more than a batch on a busy shard produces.
const keptEffects = 16_384

// Reset empties the list for the next batch.
func (e *Effects) Reset() {
	if cap(e.List) > keptEffects {
		e.List = nil
		return
	}
	clear(e.List) // so that the list does not retain names
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

	EffectSlotLeft: "slot-left", EffectSlotArrived: "slot-arrived", EffectCheckHoldings: "check-holdings",
	EffectSlotsChanged: "slots-changed",
}

// String returns the kind's name in logs and golden scripts.
func (k EffectKind) String() string {
	if int(k) < len(effectNames) && effectNames[k] != "" {
		return effectNames[k]
	}
	return "effect-" + strconv.Itoa(int(k))
}
