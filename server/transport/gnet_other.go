//go:build !linux && !darwin && !freebsd

package transport

import "log/slog"

// GnetOptions sets a listener of ListenGnet up. The zero value is good.
type GnetOptions struct {
	// Loops has no meaning on an operating system without event loops.
	Loops int
	// MaxConnections, Stats and Logger are as in NetOptions.
	MaxConnections int
	Stats          *Stats
	Logger         *slog.Logger
}

// ListenGnet is ListenNet on this operating system, because gnet's event loops do not run well here.
func ListenGnet(addr string, handler Handler, options GnetOptions) (Listener, error) {
	return ListenNet(addr, handler, NetOptions{
		MaxConnections: options.MaxConnections, Stats: options.Stats, Logger: options.Logger,
	})
}
