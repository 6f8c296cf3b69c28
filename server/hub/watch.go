package hub

import (
	"container/list"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// watch is one open watch: what its client's view is, and what is on the way to it.
type watch struct {
	link   *link
	id     uint64
	wants  wants
	opened time.Time
	name   int  // bytes of the semaphore's name, which the budget counts
	closed bool // nothing more may be appended; guarded by link.mu

	// The worker's own from here on. It plans what is appended, in order, and takes what it planned for
	// sent: where that is not so the connection is gone.
	topic *topic
	place int  // in the list of the topic; 0: not in
	over  bool // removed for good
	last  bool // its WatchEnd is planned

	revision shard.Revision // of the client's latest complete view
	begun    bool           // the view is complete, of that revision
	absent   bool           // the view is known to be of no semaphore
	missed   bool           // it was held back since it was brought to the present

	reading *snapshot // that is being sent
	page    int       // the next of its pages

	waits  int           // place among those that are ahead of this replica
	held   *list.Element // in the list that it waits in for its connection, or for its turn
	heldIn *list.List
}
