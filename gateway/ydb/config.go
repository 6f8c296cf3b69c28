package ydb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/signalbox/signalbox/client"
)

// Config configures a Gateway.
type Config struct {
	// Open opens a cluster client for a token; "" means no token. Required.
	Open func(ctx context.Context, token string) (*client.Client, error)
	// Endpoints lists the gateways for discovery. If empty, SDKs get the address that they called.
	Endpoints []Endpoint
	// Secure means that SDKs call over TLS.
	Secure bool
	// PlainTickets also accepts tickets from other machines over connections without TLS.
	PlainTickets bool
	// MaxStreams is the maximum number of open sessions. 0 means DefaultMaxStreams. Beyond it, tickets and addresses
	// that have their share cannot open sessions.
	MaxStreams int
	// MaxConnections is the maximum number of connections. 0 means DefaultMaxConnections. Connections whose ticket is
	// not accepted yet may exceed it by half.
	MaxConnections int
	// MaxQueuedBytes is how much may wait to be sent to all SDKs together; 0 stands for DefaultMaxQueuedBytes. Beyond
	// the limit, streams with many waiting bytes are not read further, and descriptions are refused.
	MaxQueuedBytes int64
	// RefusalDelay is how long the answer to a refused session start is delayed, because SDKs come back at once; 0
	// stands for DefaultRefusalDelay.
	RefusalDelay time.Duration
	// Log gets lines for operators; nil means no log.
	Log *slog.Logger
}

// Config defaults.
const (
	DefaultMaxStreams     = 100_000
	DefaultMaxConnections = 10_000
	DefaultMaxQueuedBytes = 256 << 20
	DefaultRefusalDelay   = 300 * time.Millisecond
)

// Endpoint is a gateway in the form for SDKs.
type Endpoint struct {
	Address  string
	Port     uint32
	Location string // the data center
}

// Validate returns a mistake in the config, and fills unset fields.
func (c *Config) Validate() error {
	switch {
	case c.Open == nil:
		return errors.New("a gateway needs a cluster: Config.Open")
	case c.MaxStreams < 0 || c.MaxConnections < 0 || c.MaxQueuedBytes < 0 || c.RefusalDelay < 0:
		return errors.New("a limit or a delay is below zero")
	}
	for _, e := range c.Endpoints {
		if e.Address == "" || e.Port == 0 || e.Port > 65_535 {
			return fmt.Errorf("the endpoint %q:%d has no address or no port", e.Address, e.Port)
		}
	}
	c.MaxStreams = cmp.Or(c.MaxStreams, DefaultMaxStreams)
	c.MaxConnections = cmp.Or(c.MaxConnections, DefaultMaxConnections)
	c.MaxQueuedBytes = cmp.Or(c.MaxQueuedBytes, DefaultMaxQueuedBytes)
	c.RefusalDelay = cmp.Or(c.RefusalDelay, DefaultRefusalDelay)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return nil
}
