package host

import (
	"context"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/executor"
	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/raftlog"
	rafttransport "github.com/signalbox/signalbox/shard/raftlog/transport"
)

// raftReplicas are the replicas that come to a host while it runs. It implements replica.Replicas.
type raftReplicas struct{ raft *raftlog.Host }

// Join implements replica.Replicas.
func (r raftReplicas) Join(id, replica uint64, machine shard.StateMachine) (shard.Log, error) {
	return r.raft.Join(id, replica, machine)
}

// Discard implements replica.Replicas.
func (r raftReplicas) Discard(ctx context.Context, id, replica uint64) error {
	return r.raft.Discard(ctx, id, replica)
}

// calls returns how other hosts are asked, nil where none are reached.
func (h *Host) calls() executor.Calls {
	if peers := h.peers.Load(); peers != nil {
		return peers
	}
	return nil
}

// answerHost answers a call that is for the server.
func (h *Host) answerHost(ctx context.Context, peer *rafttransport.Peer, request []byte) ([]byte, error) {
	core := h.core.Load()
	if core == nil {
		return nil, errStarting
	}
	return core.Answer(ctx, peer.Host, request)
}

// hostsChanged goes by other records of hosts from now on.
func (h *Host) hostsChanged(r *hosts.Records) {
	written := bookOf(r)
	book := h.present(written)
	if slices.Equal(book, *h.known.Load()) {
		return
	}
	if err := h.directory.WriteBook(written); err != nil {
		h.log.Warn("where the other hosts are could not be written down: a start of this one may look for them where "+
			"they were", "error", err)
	}
	h.known.Store(&book)
	if peers := h.peers.Load(); peers != nil {
		peers.SetHosts(addressBook(book))
	}
	for _, k := range book {
		if !k.Expelled {
			continue
		}
		if err := h.seen.Forget(k.Incarnation); err != nil {
			h.log.Warn("the starts of an expelled host are remembered on", "host", k.Name, "error", err)
		}
	}
}

// bookOf returns what is to be known of hosts without their records.
func bookOf(r *hosts.Records) (book []identity.Known) {
	for _, x := range r.Hosts() {
		book = append(book, identity.Known{
			Founder: identity.Founder{ID: x.ID, Name: x.Name, Incarnation: x.Incarnation, Raft: x.Addresses.Raft},
			Start:   x.Start, Expelled: x.Current.Variant == protocol.HostExpelled,
		})
	}
	return book
}

// addressBook returns the hosts that are reached, and let in.
func addressBook(book []identity.Known) (all []rafttransport.Host) {
	for _, k := range book {
		if !k.Expelled {
			all = append(all, rafttransport.Host{ID: k.ID, Name: k.Name, Incarnation: k.Incarnation, Address: k.Raft})
		}
	}
	return all
}
