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

// Note is a client's change through a gateway on the host, such as the HTTP API, with its reason.
type Note struct {
	Token   []byte // the client's token; empty for none
	Name    string // the token's name, if already known
	Address string // the client's address
	What    string // the client's change
	Why     string // the reason for the change
}

// noteAgain is the wait between attempts to add an audit entry.
const noteAgain = 200 * time.Millisecond

// History adds entries to the cluster's audit log. Safe for concurrent use.
type History struct {
	HistoryConfig
	queue chan Note

	limit auditlimit.Limit // limit for node changes
}

// HistoryConfig contains a History's dependencies.
type HistoryConfig struct {
	// Bootstrapped reports whether the cluster has an audit log.
	Bootstrapped func() bool
	// Report asks the meta shard leader to add an entry.
	Report func(context.Context, protocol.HostNotify) error
	Gate   *caller.Gate
	Nodes  bool // record nodes created, altered and dropped through the host
	Clock  func() time.Time
	Log    *slog.Logger
}

// NewHistory returns a History. Run adds its queued node changes.
func NewHistory(c HistoryConfig) *History {
	return &History{HistoryConfig: c, queue: make(chan Note, auditlimit.AtOnce)}
}

// Add records a change and its reason, for changes without an entry of their own. Add retries until the entry is
// recorded or the context ends; after a lost answer, the entry may be recorded twice.
func (h *History) Add(ctx context.Context, a Note) error {
	if !h.Bootstrapped() {
		return fmt.Errorf("server: cannot record %s: the cluster has no audit log yet", a.What)
	}
	name := a.Name
	if name == "" && len(a.Token) > 0 {
		name = h.nameOfToken(ctx, a.Token)
	}
	by := handle.Asker("", caller.Credential{Name: name}, a.Address, true)
	var failure error // the latest failure, reported with the context error
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
			return fmt.Errorf("server: cannot record %s: %w", a.What, failure)
		case <-time.After(noteAgain):
		}
	}
}

// nameOfToken returns the name of a recently admitted token, or an empty string if unknown. A remote host that
// learned the token earlier may have admitted the client.
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

// NodeChanged queues a client's node change for the audit log. NodeChanged never blocks.
func (h *History) NodeChanged(client, address, what string) {
	if !h.Nodes {
		return
	}
	a := Note{Name: client, Address: address, What: what, Why: "no reason was given"}
	if h.limit.Admit(h.Clock()) {
		select {
		case h.queue <- a:
			return
		default:
		}
	}
	h.Log.Warn("no audit log entry for a node change: too many entries", "operation", a.What)
}

// Run records queued node changes until the context ends.
func (h *History) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case a := <-h.queue:
			within, cancel := context.WithTimeout(ctx, noteWithin)
			if err := h.Add(within, a); err != nil {
				h.Log.Warn("the audit log has no entry for a change", "operation", a.What, "error", err)
			}
			cancel()
		}
	}
}

// noteWithin is how long a host retries adding an audit entry.
const noteWithin = 5 * time.Second

// Backup records a backup, unless the cluster has no audit log yet.
func (h *History) Backup(ctx context.Context, m protocol.HostNotify) error {
	if !h.Bootstrapped() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, noteWithin)
	defer cancel()
	return h.Report(ctx, m)
}
