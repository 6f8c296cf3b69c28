package host

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/shard"
	rafttransport "github.com/signalbox/signalbox/shard/raftlog/transport"
)

const (
	// bookRequest asks a host which hosts of the cluster it knows.
	bookRequest = `{"book":{}}`
	// learnEvery is how often a host asks that at most.
	learnEvery = time.Second
)

var errNotNamed = errors.New("only the hosts of a cluster hear of one another")

// learning is what a host has heard of hosts that are not in its own records. One that had no replica of the meta shard
// for a while may have missed that a host has joined, and only that one can fill its next replica, if it leads.
type learning struct {
	mu    sync.Mutex // held while others are asked, and guards what follows
	asked time.Time
}

// learn asks the hosts that are known for one that is not.
func (h *Host) learn(id shard.HostID) {
	peers := h.peers.Load()
	if peers == nil {
		return
	}
	h.learning.mu.Lock()
	defer h.learning.mu.Unlock()
	if time.Since(h.learning.asked) < learnEvery {
		return
	}
	h.learning.asked = time.Now()
	ctx, cancel := context.WithTimeout(h.ctx, askWithin)
	defer cancel()
	own := h.directory.Identity().HostID
	members := slices.DeleteFunc(slices.Clone(*h.known.Load()), func(k identity.Known) bool {
		return k.ID == own || k.Expelled
	})
	books := make(chan []identity.Known, len(members))
	for _, m := range members {
		go func() { books <- askBook(ctx, peers, m.ID) }()
	}
	for range members {
		if h.hear(<-books, id) {
			return
		}
	}
}

// askBook returns the hosts that another one knows, none where it does not answer.
func askBook(ctx context.Context, peers *rafttransport.Transport, of shard.HostID) (book []identity.Known) {
	answer, err := peers.Call(ctx, of, []byte(bookRequest))
	if err != nil || json.Unmarshal(answer, &book) != nil {
		return nil
	}
	return book
}

// answerBook answers a bookRequest.
func (h *Host) answerBook(peer *rafttransport.Peer) ([]byte, error) {
	if !peer.Named() {
		return nil, errNotNamed
	}
	return json.Marshal(*h.known.Load())
}

// hear notes the hosts that are in another one's book and have joined after all in the own one, and reports whether one
// of them is known now.
func (h *Host) hear(book []identity.Known, id shard.HostID) bool {
	h.book.mu.Lock()
	defer h.book.mu.Unlock()
	for _, k := range book {
		same := func(other identity.Known) bool { return other.ID == k.ID }
		if !k.Expelled && k.ID > h.book.latest() && !slices.ContainsFunc(h.book.heard, same) {
			h.book.heard = append(h.book.heard, k)
			h.log.Info("this host has heard of one that has joined", "name", k.Name, "host", uint64(k.ID))
		}
	}
	h.goByBook()
	return h.member(id) != nil
}

// member is what is known of a host, nil for one that is not.
func (h *Host) member(id shard.HostID) *identity.Known {
	members := *h.known.Load()
	i := slices.IndexFunc(members, func(k identity.Known) bool { return k.ID == id })
	if i < 0 {
		return nil
	}
	return &members[i]
}

// latest is the id of the host that has joined last, by the own records. The lock is held.
func (b *addressBook) latest() (id shard.HostID) {
	for _, k := range b.written {
		id = max(id, k.ID)
	}
	return id
}

// all is every host of the book. The lock is held.
func (b *addressBook) all() []identity.Known { return slices.Concat(b.written, b.heard) }

// write makes other records the own ones. A replica that is being filled begins with records from long ago, so nothing
// that is known better is forgotten for them: a later start and its address, an expulsion, and hosts that have joined
// since then, of which one may be the leader that fills the replica. The lock is held.
func (b *addressBook) write(book []identity.Known) {
	known := b.all()
	for i := range book {
		k := &book[i]
		for _, other := range known {
			if other.ID != k.ID || other.Incarnation != k.Incarnation {
				continue
			}
			if other.Start.Number > k.Start.Number {
				k.Start, k.Raft = other.Start, other.Raft
			}
			k.Expelled = k.Expelled || other.Expelled
		}
	}
	b.written = book
	latest := b.latest()
	b.heard = slices.DeleteFunc(known, func(k identity.Known) bool { return k.ID <= latest })
}
