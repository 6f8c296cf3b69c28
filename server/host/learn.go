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
	// bookRequest asks a host which hosts of the cluster are in its book.
	bookRequest = `{"book":{}}`
	// learnEvery is the least time between two rounds of bookRequest.
	learnEvery = time.Second
)

var errNotNamed = errors.New("only the hosts of a cluster hear of one another")

// learning is the state of asking other hosts about hosts missing in the own records. A host that had no replica of
// the meta shard for a while may have missed that a host has joined. The new host may lead the meta shard, and then
// no host but the new one can fill the next replica here.
type learning struct {
	mu    sync.Mutex // held while other hosts are asked, and guards the next field
	asked time.Time
}

// learn asks the known hosts for an unknown host.
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

// askBook returns the book of another host, or nothing if the host does not answer.
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

// hear notes hosts in the book of another host that joined later than all hosts of the own records. hear reports
// whether the host with the id is known now.
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

// member returns the entry of a host in the book, nil for an unknown host.
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

// write replaces the own records. A replica in the middle of being filled begins with records from long ago, so write
// keeps all better knowledge: a later start and its address, an expulsion, and hosts that have joined since then. A
// newly joined host may be the leader that fills the replica. The lock is held.
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
