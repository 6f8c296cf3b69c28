package process

import (
	"os"
	"time"

	"github.com/signalbox/signalbox/client/internal/option"
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
	option.Apply(&c, options)
	c.observer = c.observer || h.Coordinate == nil
	if c.name == "" {
		c.name = hostname()
	}
	return c
}

// hostname is a member's default name.
func hostname() string {
	if name, err := os.Hostname(); err == nil && name != "" {
		return name
	}
	return "member"
}

// WithName sets the member's display name; several members may have the same name. Default: the host name.
func WithName(name string) JoinOption { return func(c *joinConfig) { c.name = name } }

// Attributes sets up to 1 KiB data for other programs to read.
func Attributes(data []byte) JoinOption { return func(c *joinConfig) { c.attributes = data } }

// Observer keeps the member from coordinating. In everything else the member takes part.
func Observer() JoinOption { return func(c *joinConfig) { c.observer = true } }

// Create makes the process with this spec, if the process does not exist. Without Create a new process has the default
// spec.
func Create(spec Spec) JoinOption { return func(c *joinConfig) { c.create, c.spec = true, spec } }

// Existing makes Join fail with ErrNotFound if the process does not exist.
func Existing() JoinOption { return func(c *joinConfig) { c.create = false } }

// Encoding sets the codec for the member's messages, sent and received. Default: MsgPack.
func Encoding(codec Codec) JoinOption { return func(c *joinConfig) { c.codec = codec } }

// SendOption sets a request's receivers and reply timeout.
type SendOption func(*sendConfig)

type sendConfig struct {
	others   bool
	named    bool
	to       []uint64
	matching func(*Peer) bool
	timeout  time.Duration
}

// To sends the request only to the given members; an empty list sends to no member.
func To(members ...uint64) SendOption {
	return func(c *sendConfig) { c.named, c.to = true, append(c.to, members...) }
}

// Matching sends the request only to members for which the function returns true. This needs the epoch's members, which
// are read once per round.
func Matching(matches func(*Peer) bool) SendOption {
	return func(c *sendConfig) { c.matching = matches }
}

// Others excludes the sender.
func Others() SendOption { return func(c *sendConfig) { c.others = true } }

// Timeout is how long to wait for replies. Then the error is a *ReplyTimeoutError with the replies that came, and the
// round goes on. The leader of the process's shard counts the time. Without a Timeout the wait ends with the epoch,
// unless the spec has a reply timeout.
func Timeout(d time.Duration) SendOption { return func(c *sendConfig) { c.timeout = d } }
