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
	// bookRequest asks a host which cluster hosts are in its book.
	bookRequest = `{"book":{}}`
	// learnEvery is the minimum time between two rounds of bookRequest.
	learnEvery = time.Second
)

var errNotNamed = errors.New("only cluster members may request the host list")

// learning is the state for asking remote hosts about hosts missing from the local records. A host that had no meta
// shard replica for a while may have missed that a host joined. If the new host leads the meta shard, only the new
// host can fill the next replica here.
type learning struct {
	mu    sync.Mutex // held while remote hosts are asked; guards the next field
	asked time.Time
}

// learn asks the known hosts about an unknown host.
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

// askBook returns a remote host's book, or nothing if that host does not answer.
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

// hear records hosts from a remote host's book that joined later than all hosts in the local records. hear reports
// whether the host with the id is now known.
func (h *Host) hear(book []identity.Known, id shard.HostID) bool {
	h.book.mu.Lock()
	defer h.book.mu.Unlock()
	for _, k := range book {
		same := func(other identity.Known) bool { return other.ID == k.ID }
		if !k.Expelled && k.ID > h.book.latest() && !slices.ContainsFunc(h.book.heard, same) {
			h.book.heard = append(h.book.heard, k)
			h.log.Info("learned about a new host", "name", k.Name, "host", uint64(k.ID))
		}
	}
	h.goByBook()
	return h.member(id) != nil
}

// member returns a host's entry in the book, nil for an unknown host.
func (h *Host) member(id shard.HostID) *identity.Known {
	members := *h.known.Load()
	i := slices.IndexFunc(members, func(k identity.Known) bool { return k.ID == id })
	if i < 0 {
		return nil
	}
	return &members[i]
}

// latest returns the id of the most recently joined host in the local records. The lock is held.
func (b *addressBook) latest() (id shard.HostID) {
	for _, k := range b.written {
		id = max(id, k.ID)
	}
	return id
}

// all returns every host in the book. The lock is held.
func (b *addressBook) all() []identity.Known { return slices.Concat(b.written, b.heard) }

// write replaces the local records. A replica being filled begins with old records, so write keeps all newer
// knowledge: a later start and its address, an expulsion, and hosts that have joined since then. A newly joined host
// may be the leader that fills the replica. The lock is held.
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
