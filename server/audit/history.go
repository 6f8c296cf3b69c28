package audit

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/signalbox/signalbox/internal/auditlimit"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/handle"
)

// Note is a client's change through a gateway of this host, such as the HTTP API, with its reason.
type Note struct {
	Token   []byte // the token of the client; empty for none
	Name    string // the name of the token, if the name is known already
	Address string // the address of the client
	What    string // the client's change
	Why     string // the reason for the change
}

// noteAgain is how long a host waits before it tries once more to add an entry to the history of the cluster.
const noteAgain = 200 * time.Millisecond

// History adds notes to the history of the cluster. Many goroutines may use it.
type History struct {
	HistoryConfig
	queue chan Note

	limit auditlimit.Limit // of changes of nodes
}

// HistoryConfig is what a history needs of its host.
type HistoryConfig struct {
	// Bootstrapped reports whether the cluster has a history.
	Bootstrapped func() bool
	// Report has the leader of the meta shard add an entry.
	Report func(context.Context, protocol.HostNotify) error
	Gate   *caller.Gate
	Nodes  bool // the history has the nodes created, altered and dropped through this host
	Clock  func() time.Time
	Log    *slog.Logger
}

// NewHistory returns a history. Changes of nodes are added by Run.
func NewHistory(c HistoryConfig) *History {
	return &History{HistoryConfig: c, queue: make(chan Note, auditlimit.AtOnce)}
}

// Add adds a change and its reason. It tries until the history has the entry or the context ends: after a lost answer
// the history may have the entry twice. Add is for changes without an entry of their own.
func (h *History) Add(ctx context.Context, a Note) error {
	if !h.Bootstrapped() {
		return fmt.Errorf("server: note %s: the cluster has no history yet", a.What)
	}
	name := a.Name
	if name == "" && len(a.Token) > 0 {
		name = h.nameOfToken(ctx, a.Token)
	}
	by := handle.Asker("", name, a.Address, true)
	var failure error // the newest cause beside the end of the context
	for {
		err := h.Report(ctx, protocol.HostNotify{Event: protocol.HostAuditNote, Asked: protocol.ClientRequest{
			Author: []byte(by), Operation: []byte(handle.EntryText(a.What)), Reason: []byte(handle.EntryText(a.Why)),
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
func (h *History) nameOfToken(ctx context.Context, token []byte) string {
	by, unknown, _ := h.Gate.Enter(token, nil)
	if !unknown {
		return by.Name
	}
	sure := make(chan string, 1)
	h.Gate.EnterSure(token, nil, func(by *caller.Caller, _ *protocol.Result) { sure <- by.Name })
	select {
	case name := <-sure:
		return name
	case <-ctx.Done():
	}
	return by.Name
}

// NodeChanged queues a change of a client for the history. It never waits.
func (h *History) NodeChanged(client, address, what string) {
	if !h.Nodes {
		return
	}
	a := Note{Name: client, Address: address, What: what, Why: "no reason was asked for"}
	if h.limit.Admit(h.Clock()) {
		select {
		case h.queue <- a:
			return
		default:
		}
	}
	h.Log.Warn("the history gets no entry of a change of a node: there were too many", "operation", a.What)
}

// Run adds changes of nodes until the context ends.
func (h *History) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case a := <-h.queue:
			within, cancel := context.WithTimeout(ctx, noteWithin)
			if err := h.Add(within, a); err != nil {
				h.Log.Warn("the history of the cluster has no entry of a change", "operation", a.What, "error", err)
			}
			cancel()
		}
	}
}

// noteWithin is how long a host tries to add an entry to the history of the cluster.
const noteWithin = 5 * time.Second

// Backup adds an entry about a saved state, unless the cluster has no history yet.
func (h *History) Backup(ctx context.Context, m protocol.HostNotify) error {
	if !h.Bootstrapped() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, noteWithin)
	defer cancel()
	return h.Report(ctx, m)
}
