package watch

import (
	"container/list"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// watch is one open watch: the state of the client's view, and the frames on their way to the client.
type watch struct {
	subscriber *subscriber
	id         uint64
	wants      wants
	opened     time.Time
	name       int  // length of object and view name, counted in the budget
	closed     bool // nothing more may be appended; guarded by subscriber.mu

	// Only the worker uses the fields below. The worker plans the frames in order, and considers planned frames sent:
	// if a frame cannot be sent, the connection is closed.
	topic *topic
	place int  // index in the topic's list, starting at 1; 0: not in the list
	over  bool // removed permanently
	last  bool // the WatchEnd is planned

	revision shard.Revision // the client's latest complete view
	begun    bool           // the view is complete at this revision
	absent   bool           // the view is known to show no object
	missed   bool           // the watch was held back since it was last up to date

	reading *snapshot // the snapshot being sent
	page    int       // the next page of the snapshot

	waits  int           // index in worker.ahead, starting at 1; 0: not there
	held   *list.Element // in the list in which the watch waits for its connection, or for other snapshots
	heldIn *list.List
}

// aheadOrder orders watches by their revisions.
type aheadOrder struct{}

func (aheadOrder) Before(a, b *watch) bool { return a.revision < b.revision }
func (aheadOrder) Placed(w *watch, at int) { w.waits = at + 1 }

// wants is what a watch asks for in addition to the object's existence.
type wants uint8

const (
	wantsData   wants = 1 << 0 // or a head
	wantsOwners wants = 1 << 1 // or rows
	// wantKinds is the number of combinations of wants.
	wantKinds = 4
)

// everything contains all change flags.
const everything = shard.FlagData | shard.FlagOwners | shard.FlagCreated | shard.FlagDeleted | shard.FlagLimit

// wantsOf returns a request's wants. For kinds other than semaphores the view decides, and the watch wants all.
func wantsOf(m *protocol.Watch) wants {
	var w wants
	if m.Data || !m.ObjectKind.IsSemaphore() {
		w |= wantsData
	}
	if m.Owners || !m.ObjectKind.IsSemaphore() {
		w |= wantsOwners
	}
	return w
}

// flags returns the flags of changes the watch should get.
func (w wants) flags() shard.EffectFlags {
	f := shard.FlagCreated | shard.FlagDeleted | shard.FlagLimit
	if w&wantsData != 0 {
		f |= shard.FlagData
	}
	if w&wantsOwners != 0 {
		f |= shard.FlagOwners
	}
	return f
}
