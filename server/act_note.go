package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/handle"
)

// Act is a client's change through a door of this host, such as the HTTP API, with its reason.
type Act struct {
	Token   []byte // the token of the client; empty for none
	Name    string // the name of the token, where the name is known already
	Address string // the address of the client
	What    string // the client's change
	Why     string // the reason for the change
}

// noteAgain is how long a host waits before it tries once more to add an entry to the history of the cluster.
const noteAgain = 200 * time.Millisecond

// NoteAct adds an act and its reason to the history of the cluster. It tries until the history has the entry or the
// context ends: after a lost answer the history may have the entry twice. NoteAct is for acts without an entry of
// their own.
func (h *Host) NoteAct(ctx context.Context, a Act) error {
	if !h.governing.attendance.founded() {
		return fmt.Errorf("server: note %s: the cluster has no history yet", a.What)
	}
	name := a.Name
	if name == "" && len(a.Token) > 0 {
		name = h.nameOfToken(ctx, a.Token)
	}
	by := handle.Asker("", name, a.Address, true)
	var failure error // the newest cause beside the end of the context
	for {
		err := h.governing.attendance.say(ctx, protocol.HostSay{What: protocol.HostNotes, Asked: protocol.HostAsked{
			By: []byte(by), What: []byte(handle.EntryText(a.What)), Reason: []byte(handle.EntryText(a.Why)),
		}})
		if err == nil {
			return nil
		}
		if failure == nil || ctx.Err() == nil {
			failure = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("server: note %s: %w", a.What, failure)
		case <-time.After(noteAgain):
		}
	}
}

// nameOfToken returns the name of a token that was admitted a moment ago, empty if the name is unknown. Another host
// may have admitted the client because it knew the token earlier than this host.
func (h *Host) nameOfToken(ctx context.Context, token []byte) string {
	by, unknown, _ := h.gate.Enter(token, nil)
	if !unknown {
		return by.Name
	}
	sure := make(chan string, 1)
	h.gate.EnterSure(token, nil, func(by *caller.Caller, _ *protocol.Result) { sure <- by.Name })
	select {
	case name := <-sure:
		return name
	case <-ctx.Done():
	}
	return by.Name
}

const (
	// nodesAtOnce is how many changes of nodes a host adds to the history one after the other, and nodeEvery the time
	// until one more is allowed, because a client that makes nodes all the time must not push out everything else.
	nodesAtOnce = 64
	nodeEvery   = 30 * time.Second
)

// nodeNotes adds the nodes created, altered and dropped through this host to the history of the cluster.
type nodeNotes struct {
	host  *Host
	queue chan Act

	mu   sync.Mutex
	next time.Time // when one more is allowed, less the time for nodesAtOnce
}

func (n *nodeNotes) init(h *Host) { n.host, n.queue = h, make(chan Act, nodesAtOnce) }

// add queues a change of a client for the history. It never waits.
func (n *nodeNotes) add(client, address, what string) {
	if !n.host.config.NotesNodes {
		return
	}
	a := Act{Name: client, Address: address, What: what, Why: "no reason was asked for"}
	if n.admit(n.host.config.Clock()) {
		select {
		case n.queue <- a:
			return
		default:
		}
	}
	n.host.log.Warn("the history gets no entry of a change of a node: there were too many", "operation", a.What)
}

func (n *nodeNotes) admit(now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if earliest := now.Add(-(nodesAtOnce - 1) * nodeEvery); n.next.Before(earliest) {
		n.next = earliest
	}
	if n.next.After(now) {
		return false
	}
	n.next = n.next.Add(nodeEvery)
	return true
}

// run puts changes into the history until the context ends.
func (n *nodeNotes) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case a := <-n.queue:
			within, cancel := context.WithTimeout(ctx, noteWithin)
			if err := n.host.NoteAct(within, a); err != nil {
				n.host.log.Warn("the history of the cluster has no entry of an act", "operation", a.What, "error", err)
			}
			cancel()
		}
	}
}

// noteWithin is how long a host tries to add an entry to the history of the cluster.
const noteWithin = 5 * time.Second

// noteBackup adds an entry about a saved state to the history of the cluster, unless there is no history yet.
func (g *governing) noteBackup(m protocol.HostSay) error {
	if !g.attendance.founded() {
		return nil
	}
	ctx, cancel := context.WithTimeout(g.ctx, noteWithin)
	defer cancel()
	return g.attendance.say(ctx, m)
}
