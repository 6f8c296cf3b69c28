package host

import (
	"slices"
	"sync"

	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	rafttransport "github.com/signalbox/signalbox/shard/raftlog/transport"
)

// addressBook is where other hosts are, as far as this host knows. The records have the address of a host's last
// boot. If the settings list a different address, the listed address counts until this host has met the process of
// the recorded boot. So hosts find each other by their lists after all of them have moved.
type addressBook struct {
	mu      sync.Mutex                        // guards the next fields
	written []identity.Known                  // by the records, or by the written copy of the records
	heard   []identity.Known                  // joined later than all hosts in written; from other hosts
	met     map[hosts.Incarnation]hosts.Start // met by this process
}

// knownBy fills the book with the hosts of an earlier process.
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

// present returns the present addresses of hosts. The lock of the book is held.
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

// meet notes the running process of a host.
func (h *Host) meet(incarnation hosts.Incarnation, start hosts.Start) {
	h.book.mu.Lock()
	defer h.book.mu.Unlock()
	if h.book.met[incarnation] == start {
		return
	}
	h.book.met[incarnation] = start
	h.goByBook()
}

// goByBook gives the peers the present addresses of hosts, after a change. The lock of the book is held.
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

// hostsChanged replaces the records of hosts.
func (h *Host) hostsChanged(r *hosts.Records) {
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
		h.log.Warn("where the other hosts are could not be written down: the next start of this one may look for them "+
			"where they were", "error", err)
	}
	for _, k := range written {
		if !k.Expelled {
			continue
		}
		if err := h.seen.Forget(k.Incarnation); err != nil {
			h.log.Warn("the starts of an expelled host are remembered on", "name", k.Name, "error", err)
		}
	}
}

// bookOf returns the part of the records that must be known without them.
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

// reachable returns the hosts to reach and to let in.
func reachable(known []identity.Known) (all []rafttransport.Host) {
	for _, k := range known {
		if !k.Expelled {
			all = append(all, rafttransport.Host{ID: k.ID, Name: k.Name, Incarnation: k.Incarnation, Address: k.Raft})
		}
	}
	return all
}

// membersOf returns the ids of the hosts in a book that belong to the cluster. A host without a replica finds the
// governing host among these ids only.
func membersOf(known []identity.Known) (ids []shard.HostID) {
	for _, k := range known {
		if !k.Expelled {
			ids = append(ids, k.ID)
		}
	}
	return ids
}
