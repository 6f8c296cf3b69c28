package ydb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/signalbox/signalbox/client"
)

// Config is what a Gateway is made with.
type Config struct {
	// Open opens a client of the cluster for a token; "" for none. It is needed.
	Open func(ctx context.Context, token string) (*client.Client, error)
	// Endpoints are the gateways that SDKs find by discovery. Where there are none, each caller finds the address that
	// it has called.
	Endpoints []Endpoint
	// Secure says that SDKs call over TLS.
	Secure bool
	// PlainTickets lets tickets come over a connection without TLS from elsewhere than this machine.
	PlainTickets bool
	// MaxStreams is how many sessions there may be at a time, MaxStreamsPerAddress how many of one address.
	// DefaultMaxStreams where it is 0.
	MaxStreams, MaxStreamsPerAddress int
	// MaxQueuedBytes is how much may wait to be sent to all SDKs together; DefaultMaxQueuedBytes where it is 0. Streams
	// that have much waiting are read no further then, and descriptions are refused.
	MaxQueuedBytes int64
	// RefusalDelay is how long a session that cannot be started is kept waiting for that answer, because SDKs come back
	// at once; DefaultRefusalDelay where it is 0.
	RefusalDelay time.Duration
	// Log gets what an operator should see; nothing is logged where it is nil.
	Log *slog.Logger
}

// What holds where a Config does not say otherwise.
const (
	DefaultMaxStreams     = 100_000
	DefaultMaxQueuedBytes = 256 << 20
	DefaultRefusalDelay   = 300 * time.Millisecond
)

// Endpoint is a gateway as SDKs find it.
type Endpoint struct {
	Address  string
	Port     uint32
	Location string // the data center
}

// Validate returns what is wrong, and fills in what is not set.
func (c *Config) Validate() error {
	switch {
	case c.Open == nil:
		return errors.New("a gateway needs a cluster: Config.Open")
	case c.MaxStreams < 0 || c.MaxStreamsPerAddress < 0 || c.MaxQueuedBytes < 0 || c.RefusalDelay < 0:
		return errors.New("a limit or a delay is below zero")
	}
	for _, e := range c.Endpoints {
		if e.Address == "" || e.Port == 0 || e.Port > 65_535 {
			return fmt.Errorf("the endpoint %q:%d has no address or no port", e.Address, e.Port)
		}
	}
	if c.MaxStreams == 0 {
		c.MaxStreams = DefaultMaxStreams
	}
	if c.MaxStreamsPerAddress == 0 {
		c.MaxStreamsPerAddress = c.MaxStreams
	}
	if c.MaxQueuedBytes == 0 {
		c.MaxQueuedBytes = DefaultMaxQueuedBytes
	}
	if c.RefusalDelay == 0 {
		c.RefusalDelay = DefaultRefusalDelay
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}
