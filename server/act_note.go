package server

import (
	"context"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// Act is a client's change through a door of this host, such as the HTTP API, with its reason.
type Act struct {
	Token   []byte // the token of the client; empty for none
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
	by := asker("", h.nameOfToken(ctx, a.Token), a.Address, true)
	for {
		err := h.governing.attendance.say(ctx, protocol.HostSay{What: protocol.HostNotes, Asked: protocol.HostAsked{
			By: []byte(by), What: []byte(entryText(a.What)), Reason: []byte(entryText(a.Why)),
		}})
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("server: note %s: %w", a.What, err)
		case <-time.After(noteAgain):
		}
	}
}

// nameOfToken returns the name of a token that was admitted a moment ago, empty if the name is unknown. Another host
// may have admitted the client because it knew the token earlier than this host.
func (h *Host) nameOfToken(ctx context.Context, token []byte) string {
	e, _ := h.enter(token, nil)
	if !e.unknown {
		return e.name
	}
	sure := make(chan struct{})
	h.meta.Confirm(func(bool) { close(sure) })
	select {
	case <-sure:
		e, _ = h.enter(token, nil)
	case <-ctx.Done():
	}
	return e.name
}
