package ydb

import (
	"context"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/raw"
	"github.com/signalbox/signalbox/internal/fairshare"
)

const (
	// maxTickets is how many different tickets a gateway has connections for.
	maxTickets = 1000
	// maxOpening is how many tickets hosts are asked about at once.
	maxOpening = 16
	// ticketIdle is how long an unused ticket's connections are kept.
	ticketIdle = time.Minute
	// pingEvery is how often hosts are asked to vouch for sessions.
	pingEvery = time.Second
)

// tickets has one cluster client per ticket presented by SDKs: a ticket is a cluster token.
type tickets struct {
	open  func(ctx context.Context, token string) (*client.Client, error)
	turns *fairshare.Turns // for asking hosts about tickets

	mu       sync.Mutex // guards the next fields
	byTicket map[string]*ticket
	accepted int // of byTicket
	closed   bool
}

func newTickets(open func(ctx context.Context, token string) (*client.Client, error)) tickets {
	return tickets{open: open, turns: fairshare.NewTurns(maxOpening, 0), byTicket: make(map[string]*ticket)}
}

// ticket is a ticket's client.
type ticket struct {
	opened chan struct{} // closed when the client is open, or could not be opened
	client *client.Client
	raw    *raw.Client
	err    error

	// Guarded by the lock in tickets.
	users    int
	accepted bool // by hosts
	since    time.Time
	idle     *time.Timer // runs while there are no users; nil before
}

// use returns a ticket's client; the caller must call leave. Hosts are asked about a new ticket, and addresses take
// turns.
func (t *tickets) use(ctx context.Context, token string, by fairshare.Party) (*ticket, error) {
	t.mu.Lock()
	of := t.byTicket[token]
	mine := of == nil
	switch {
	case t.closed:
		t.mu.Unlock()
		return nil, client.ErrClosed
	case mine:
		of = &ticket{opened: make(chan struct{})}
		t.byTicket[token] = of
	}
	of.users++
	if of.idle != nil {
		of.idle.Stop()
	}
	t.mu.Unlock()
	if mine {
		of.err = t.ask(ctx, token, of, by)
		close(of.opened)
	}
	var err error
	select {
	case <-of.opened:
		err = of.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		t.leave(token, of)
		return nil, err
	}
	return of, nil
}

// ask opens a ticket's client when it is the address's turn.
func (t *tickets) ask(ctx context.Context, token string, of *ticket, by fairshare.Party) error {
	turn, err := t.turns.Take(ctx, by)
	if err != nil {
		return err
	}
	defer turn.End()
	opened, err := t.open(ctx, token)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.accepted >= maxTickets && !t.dropIdle() {
		go func() { _ = opened.Close() }()
		return client.ErrOverloaded
	}
	of.client, of.raw = opened, raw.New(opened, raw.Options{PingEvery: pingEvery})
	of.accepted = true
	t.accepted++
	return nil
}

// accepts reports whether hosts have accepted a ticket lately.
func (t *tickets) accepts(token string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.byTicket[token]
	return of != nil && of.accepted
}

func (t *tickets) leave(token string, of *ticket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if of.users--; of.users > 0 {
		return
	}
	if !of.accepted {
		t.drop(token, of)
		return
	}
	of.since = time.Now()
	of.idle = time.AfterFunc(ticketIdle, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if of.users == 0 {
			t.drop(token, of)
		}
	})
}

// dropIdle drops the ticket that has been unused for longest, and returns false if there is none. The lock is held.
func (t *tickets) dropIdle() bool {
	var oldest *ticket
	var token string
	for name, of := range t.byTicket {
		if of.accepted && of.users == 0 && (oldest == nil || of.since.Before(oldest.since)) {
			token, oldest = name, of
		}
	}
	if oldest == nil {
		return false
	}
	oldest.idle.Stop()
	t.drop(token, oldest)
	return true
}

// drop removes a ticket without users and closes its client. The lock is held.
func (t *tickets) drop(token string, of *ticket) {
	if t.byTicket[token] != of {
		return
	}
	delete(t.byTicket, token)
	if of.accepted {
		t.accepted--
		go func() { _ = of.client.Close() }()
	}
}

func (t *tickets) close() {
	t.mu.Lock()
	t.closed = true
	all := t.byTicket
	t.byTicket = nil
	t.mu.Unlock()
	for _, of := range all {
		<-of.opened
		if of.client != nil {
			_ = of.client.Close()
		}
	}
}
