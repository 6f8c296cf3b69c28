package server

import (
	"context"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// Act is a change that a client has made through a door of this host, such as its HTTP API, and its reason.
type Act struct {
	Token   []byte // that the client has shown; empty for none
	Address string // from where it came
	What    string // it has done
	Why     string // it has done it
}

// noteAgain is how long a host waits before it tries once more to have something in the history of the cluster.
const noteAgain = 200 * time.Millisecond

// NoteAct has the history of the cluster say who has done something and why. It tries until that is in the history or
// the context ends: a word that was lost may be in it twice. It is for what leaves no trace in the history by itself.
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

// nameOfToken returns the name of a token that was let in a moment ago, empty where it is not known. Another host may
// have let it in that knew it before this one.
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
