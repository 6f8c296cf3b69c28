package watch

import (
	"container/list"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// watch is one open watch: the state of the client's view, and the frames on the way to the client.
type watch struct {
	subscriber *subscriber
	id         uint64
	wants      wants
	opened     time.Time
	name       int  // bytes of the names of the object and its view, which the budget counts
	closed     bool // nothing more may be appended; guarded by subscriber.mu

	// Only the worker uses the fields below. The worker plans the frames in order, and takes planned frames for sent:
	// if a frame cannot be sent, the connection is gone.
	topic *topic
	place int  // in the list of the topic, counted from 1; 0: not in the list
	over  bool // removed for good
	last  bool // the WatchEnd is planned

	revision shard.Revision // of the client's latest complete view
	begun    bool           // the view is complete, of the revision
	absent   bool           // the view is known to show no object
	missed   bool           // the watch was held back since it was last at the present

	reading *snapshot // the snapshot that is being sent
	page    int       // the next page of the snapshot

	waits  int           // place in worker.ahead, counted from 1; 0: not there
	held   *list.Element // in the list where the watch waits for its connection, or for other snapshots
	heldIn *list.List
}

// aheadOrder orders watches by their revisions.
type aheadOrder struct{}

func (aheadOrder) Before(a, b *watch) bool { return a.revision < b.revision }
func (aheadOrder) Placed(w *watch, at int) { w.waits = at + 1 }

// wants is what a watch asks for besides the existence of the object.
type wants uint8

const (
	wantsData   wants = 1 << 0 // or a head
	wantsOwners wants = 1 << 1 // or rows
	// wantKinds is how many combinations of wants there are.
	wantKinds = 4
)

// everything is the flags of a change that may be of any kind.
const everything = shard.FlagData | shard.FlagOwners | shard.FlagCreated | shard.FlagDeleted | shard.FlagLimit

// wantsOf returns the wants of a request. For other kinds than semaphores the view decides, and the watch wants all.
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

// flags are the flags of the changes that the watch is to get.
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
