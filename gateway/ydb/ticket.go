package ydb

import (
	"context"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/raw"
)

const (
	// maxTickets is how many different tickets a gateway has connections for.
	maxTickets = 1000
	// ticketIdle is how long the connections of an unused ticket are kept.
	ticketIdle = time.Minute
	// pingEvery is how often hosts are asked to vouch for sessions.
	pingEvery = time.Second
)

// tickets are the clients of the cluster, a client for every ticket shown by SDKs: a ticket is a token of the
// cluster.
type tickets struct {
	open func(ctx context.Context, token string) (*client.Client, error)

	mu       sync.Mutex // guards the next fields
	byTicket map[string]*ticket
	closed   bool
}

// ticket is the client of a ticket.
type ticket struct {
	opened chan struct{} // closed when the client is open, or could not be opened
	client *client.Client
	raw    *raw.Client
	err    error

	// Guarded by the lock of the tickets.
	users int
	idle  *time.Timer
}

// use returns the client of a ticket; the caller calls leave.
func (t *tickets) use(ctx context.Context, token string) (*ticket, error) {
	t.mu.Lock()
	of := t.byTicket[token]
	mine := of == nil
	switch {
	case t.closed:
		t.mu.Unlock()
		return nil, client.ErrClosed
	case mine && len(t.byTicket) >= maxTickets:
		t.mu.Unlock()
		return nil, client.ErrOverloaded
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
		of.client, of.err = t.open(ctx, token)
		if of.err == nil {
			of.raw = raw.New(of.client, raw.Options{PingEvery: pingEvery})
		}
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

func (t *tickets) leave(token string, of *ticket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if of.users--; of.users > 0 {
		return
	}
	if of.err != nil {
		t.drop(token, of)
		return
	}
	of.idle = time.AfterFunc(ticketIdle, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if of.users == 0 {
			t.drop(token, of)
			go func() { _ = of.client.Close() }()
		}
	})
}

// drop forgets a ticket. The lock is held.
func (t *tickets) drop(token string, of *ticket) {
	if t.byTicket[token] == of {
		delete(t.byTicket, token)
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
