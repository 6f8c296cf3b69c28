package admin

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
)

// connections keeps the number of HTTP connections below a limit. One more takes the place of the one that has done
// nothing for longest, so that connections which are only held open, or send a request byte by byte, keep no other out.
// Those that a page is being made for are not closed: there are never so many (see pageLimit).
type connections struct {
	mu    sync.Mutex
	order list.List // of *connection, the one that has done nothing for longest first
	open  map[net.Conn]*list.Element
}

// connection is one of them.
type connection struct {
	net.Conn
	pages int // that are being made for it; guarded by connections.mu
}

// changed is called with every change of a connection's state.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch place := c.open[conn]; {
	case state == http.StateClosed || state == http.StateHijacked:
		if place != nil {
			c.order.Remove(place)
			delete(c.open, conn)
		}
	case place != nil:
		c.order.MoveToBack(place)
	case state == http.StateNew:
		c.open[conn] = c.order.PushBack(&connection{Conn: conn})
		if c.order.Len() > maxConnections {
			c.closeOldest()
		}
	}
}

// closeOldest closes the connection that has done nothing for longest. mu is held.
func (c *connections) closeOldest() {
	for place := c.order.Front(); place != nil; place = place.Next() {
		if oldest := place.Value.(*connection); oldest.pages == 0 {
			_ = oldest.Close()
			c.order.Remove(place)
			delete(c.open, oldest.Conn)
			return
		}
	}
}

// connKey is where the context of a request has its connection.
type connKey struct{}

// withConn is the context of the requests of a connection.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// making counts a page that is being made for the request's connection, or, with -1, that is done.
func (c *connections) making(r *http.Request, pages int) {
	conn, ok := r.Context().Value(connKey{}).(net.Conn)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if place := c.open[conn]; place != nil {
		place.Value.(*connection).pages += pages
	}
}

// limited serves pages that cost something, or may take long to be read, a few at a time. Health is served beside them
// whatever they do.
func (c *connections) limited(pages http.Handler) http.Handler {
	places := make(chan struct{}, pageLimit)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, healthPath) {
			pages.ServeHTTP(w, r)
			return
		}
		select {
		case places <- struct{}{}:
		default:
			w.Header().Set("Retry-After", "1")
			writeText(w, http.StatusServiceUnavailable, "too many pages are asked for at once\n")
			return
		}
		c.making(r, 1)
		defer func() {
			c.making(r, -1)
			<-places
		}()
		pages.ServeHTTP(w, r)
	})
}
