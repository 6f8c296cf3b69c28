package process

import (
	"os"
	"time"
)

// JoinOption sets how a member takes part.
type JoinOption func(*joinConfig)

type joinConfig struct {
	name       string
	attributes []byte
	observer   bool
	create     bool
	spec       Spec
	codec      Codec
}

func newJoinConfig(h *Handler, options []JoinOption) joinConfig {
	c := joinConfig{create: true, codec: MsgPack}
	for _, o := range options {
		o(&c)
	}
	c.observer = c.observer || h.Coordinate == nil
	if c.name == "" {
		c.name = hostname()
	}
	return c
}

// hostname is the name of a member that was given none.
func hostname() string {
	if name, err := os.Hostname(); err == nil && name != "" {
		return name
	}
	return "member"
}

// As is what people know the member by; others may have the same name. Without it that is the name of the host.
func As(name string) JoinOption { return func(c *joinConfig) { c.name = name } }

// Attributes are up to 1 KiB that others can read.
func Attributes(data []byte) JoinOption { return func(c *joinConfig) { c.attributes = data } }

// Observer keeps the member from coordinating. It takes part in all else.
func Observer() JoinOption { return func(c *joinConfig) { c.observer = true } }

// Create makes the process by this spec, where there is none. Without it the spec is that of the defaults.
func Create(spec Spec) JoinOption { return func(c *joinConfig) { c.create, c.spec = true, spec } }

// Existing joins only a process that is there: ErrNotFound says that it is not.
func Existing() JoinOption { return func(c *joinConfig) { c.create = false } }

// Encoding is the codec of what the member says and hears; MsgPack where it is not given.
func Encoding(codec Codec) JoinOption { return func(c *joinConfig) { c.codec = codec } }

// SendOption sets to whom a request goes, and for how long replies are waited for.
type SendOption func(*sendConfig)

type sendConfig struct {
	others   bool
	named    bool
	to       []uint64
	matching func(*Peer) bool
	timeout  time.Duration
}

// To sends it to these members only; with none, to no one.
func To(members ...uint64) SendOption {
	return func(c *sendConfig) { c.named, c.to = true, append(c.to, members...) }
}

// Matching sends it to those members only for which the function returns true. It takes reading who the members are,
// once in a round.
func Matching(matches func(*Peer) bool) SendOption {
	return func(c *sendConfig) { c.matching = matches }
}

// Others leaves the sender out.
func Others() SendOption { return func(c *sendConfig) { c.others = true } }

// Timeout is for how long replies are waited for; then the error is a *Late with those that came, and the round goes
// on. It is counted by the leader of the process's shard. Without it replies are waited for until the epoch ends,
// unless the spec has a reply timeout.
func Timeout(d time.Duration) SendOption { return func(c *sendConfig) { c.timeout = d } }
