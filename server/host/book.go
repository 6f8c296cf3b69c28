package host

import (
	"slices"
	"sync"

	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	rafttransport "github.com/signalbox/signalbox/shard/raftlog/transport"
)

// addressBook contains the addresses of remote hosts, as far as the local host knows. The records contain a host's
// address at its last boot. If the settings list a different address, the listed address is used until the local host
// has met the process from the recorded boot. So hosts find each other through their lists even after all of them
// have moved.
type addressBook struct {
	mu      sync.Mutex                        // guards the fields below
	written []identity.Known                  // from the records, or from the saved copy of the records
	heard   []identity.Known                  // joined later than all hosts in written; from remote hosts
	met     map[hosts.Incarnation]hosts.Start // met by the process
}

// knownBy fills the book with the hosts saved by an earlier process.
func (h *Host) knownBy(written []identity.Known) []identity.Known {
	h.book.mu.Lock()
	defer h.book.mu.Unlock()
	h.book.write(written)
	if h.book.met == nil {
		h.book.met = make(map[hosts.Incarnation]hosts.Start)
	}
	known := h.present()
	h.known.Store(&known)
	return known
}

// present returns the hosts' current addresses. The book's lock is held.
func (h *Host) present() []identity.Known {
	known := slices.Concat(h.book.written, h.book.heard)
	for i := range known {
		k := &known[i]
		if met, is := h.book.met[k.Incarnation]; is && met == k.Start {
			continue
		}
		for _, listed := range h.settings.InitialHosts {
			if listed.Name == k.Name && listed.Raft != "" {
				k.Raft = listed.Raft
			}
		}
	}
	return known
}

// meet records the running process of a host.
func (h *Host) meet(incarnation hosts.Incarnation, start hosts.Start) {
	h.book.mu.Lock()
	defer h.book.mu.Unlock()
	if h.book.met[incarnation] == start {
		return
	}
	h.book.met[incarnation] = start
	h.goByBook()
}

// goByBook passes changed host addresses to the peers. The book's lock is held.
func (h *Host) goByBook() {
	known := h.present()
	if slices.Equal(known, *h.known.Load()) {
		return
	}
	h.known.Store(&known)
	if peers := h.peers.Load(); peers != nil {
		peers.SetHosts(reachable(known))
	}
}

// hostsChanged replaces the host records.
func (h *Host) hostsChanged(r *hosts.Records) {
	h.shareMemory(r)
	h.book.mu.Lock()
	before := h.book.all()
	h.book.write(bookOf(r))
	h.goByBook()
	written := h.book.all()
	same := slices.Equal(written, before)
	h.book.mu.Unlock()
	if same {
		return
	}
	if err := h.directory.WriteBook(written); err != nil {
		h.log.Warn("cannot record the addresses of other hosts: the next start may use outdated "+
			"addresses", "error", err)
	}
	for _, k := range written {
		if !k.Expelled {
			continue
		}
		if err := h.seen.Forget(k.Incarnation); err != nil {
			h.log.Warn("cannot forget the starts of an expelled host", "name", k.Name, "error", err)
		}
	}
}

// shareMemory divides the host's memory among the data shards that there are now.
func (h *Host) shareMemory(r *hosts.Records) {
	shards := 0
	for _, s := range r.Shards() {
		if s.ID != hosts.Meta && s.Phase != hosts.ShardRetired {
			shards++
		}
	}
	if h.shards.Swap(int32(shards)) == int32(shards) {
		return
	}
	h.raft.SetShardBytes(h.settings.ShardQuota(shards))
	if warning := h.settings.WarnMemory(shards); warning != "" && shards != h.identity.Shards {
		h.log.Warn(warning)
	}
}

// bookOf returns the part of the records that a host must know before it can read them.
func bookOf(r *hosts.Records) (book []identity.Known) {
	for _, x := range r.Hosts() {
		book = append(book, identity.Known{
			InitialMember: identity.InitialMember{ID: x.ID, Name: x.Name, Incarnation: x.Incarnation,
				Raft: x.Addresses.Raft},
			Start: x.Start, Expelled: x.Refused(),
		})
	}
	return book
}

// reachable returns the hosts to connect to and to accept.
func reachable(known []identity.Known) (all []rafttransport.Host) {
	for _, k := range known {
		if !k.Expelled {
			all = append(all, rafttransport.Host{ID: k.ID, Name: k.Name, Incarnation: k.Incarnation, Address: k.Raft})
		}
	}
	return all
}

// membersOf returns the ids of the hosts in a book that belong to the cluster. A host without a replica looks for the
// governor only among these.
func membersOf(known []identity.Known) (ids []shard.HostID) {
	for _, k := range known {
		if !k.Expelled {
			ids = append(ids, k.ID)
		}
	}
	return ids
}
