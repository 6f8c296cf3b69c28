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

// hostname is the default name of a member.
func hostname() string {
	if name, err := os.Hostname(); err == nil && name != "" {
		return name
	}
	return "member"
}

// WithName is the name by which people know the member; several members may have one name. The default is the name of
// the host.
func WithName(name string) JoinOption { return func(c *joinConfig) { c.name = name } }

// Attributes are up to 1 KiB for other programs to read.
func Attributes(data []byte) JoinOption { return func(c *joinConfig) { c.attributes = data } }

// Observer keeps the member from coordinating. In everything else the member takes part.
func Observer() JoinOption { return func(c *joinConfig) { c.observer = true } }

// Create makes the process with this spec, if the process does not exist. Without Create a new process has the default
// spec.
func Create(spec Spec) JoinOption { return func(c *joinConfig) { c.create, c.spec = true, spec } }

// Existing joins only an existing process: ErrNotFound says that the process does not exist.
func Existing() JoinOption { return func(c *joinConfig) { c.create = false } }

// Encoding is the codec of the member's messages, sent and received; the default is MsgPack.
func Encoding(codec Codec) JoinOption { return func(c *joinConfig) { c.codec = codec } }

// SendOption sets the receivers of a request, and how long to wait for replies.
type SendOption func(*sendConfig)

type sendConfig struct {
	others   bool
	named    bool
	to       []uint64
	matching func(*Peer) bool
	timeout  time.Duration
}

// To sends the request to these members only; with an empty list, to no member.
func To(members ...uint64) SendOption {
	return func(c *sendConfig) { c.named, c.to = true, append(c.to, members...) }
}

// Matching sends the request to the members only for which the function returns true. The members of the epoch have to
// be read for the choice, once in a round.
func Matching(matches func(*Peer) bool) SendOption {
	return func(c *sendConfig) { c.matching = matches }
}

// Others leaves the sender out.
func Others() SendOption { return func(c *sendConfig) { c.others = true } }

// Timeout is how long to wait for replies. Then the error is a *ReplyTimeoutError with the replies that came, and the
// round goes on. The leader of the process's shard counts the time. Without a Timeout the wait ends with the epoch,
// unless the spec has a reply timeout.
func Timeout(d time.Duration) SendOption { return func(c *sendConfig) { c.timeout = d } }
