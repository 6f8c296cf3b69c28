package hub

import (
	"container/list"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// watch is one open watch: what its client's view is, and what is on the way to it.
type watch struct {
	subscriber *subscriber
	id         uint64
	wants      wants
	opened     time.Time
	name       int  // bytes of the names of the object and its view, which the budget counts
	closed     bool // nothing more may be appended; guarded by subscriber.mu

	// The worker's own from here on. It plans what is appended, in order, and takes what it planned for
	// sent: where that is not so the connection is gone.
	topic *topic
	place int  // in the list of the topic; 0: not in
	over  bool // removed for good
	last  bool // its WatchEnd is planned

	revision shard.Revision // of the client's latest complete view
	begun    bool           // the view is complete, of that revision
	absent   bool           // the view is known to be of nothing
	missed   bool           // it was held back since it was brought to the present

	reading *snapshot // that is being sent
	page    int       // the next of its pages

	waits  int           // place among those that are ahead of this replica
	held   *list.Element // in the list that it waits in for its connection, or for others
	heldIn *list.List
}

// wants is what a watch asks for besides the existence of what it watches.
type wants uint8

const (
	wantsData   wants = 1 << 0 // or a head
	wantsOwners wants = 1 << 1 // or rows
	// wantKinds is how many different wants there are.
	wantKinds = 4
)

// everything is the flags of a change that may be of any sort.
const everything = shard.FlagData | shard.FlagOwners | shard.FlagCreated | shard.FlagDeleted | shard.FlagLimit

// wantsOf returns what a request asks for. Of other kinds than semaphores the view says that.
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

// flags are those of the changes that the watch is to get.
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
