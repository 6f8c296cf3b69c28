package main

import (
	"sync/atomic"

	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/transport"
)

// gate refuses connections until there is a host behind it. So the listeners can be opened first, and an
// address that is taken is known before anything is written.
type gate struct {
	host atomic.Pointer[server.Host]
}

// Opened implements transport.Handler.
func (g *gate) Opened(c transport.Conn) transport.Events {
	host := g.host.Load()
	if host == nil {
		return nil
	}
	return host.Opened(c)
}
