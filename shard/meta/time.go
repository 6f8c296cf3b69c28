package meta

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/clock"
)

// advance moves the time of the shard to when the batch was proposed.
func (m *Machine) advance(s clock.Stamp) {
	m.stamp = s
	if s.Term == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clock.Advance(s)
}

// isUntimed reports whether a command that depends on the time of the shard stands in a batch without a stamp.
// Without a stamp the time of the shard may be old, so that a delay would begin too early.
func (m *Machine) isUntimed(c *Command) bool {
	return c.Request != nil && !c.Kind.isForwarded() && m.stamp.Term == 0
}

// isForwarded reports whether a request comes from the leader of a data shard, which may not lead the meta shard and
// then forwards the request without a stamp.
func (k CommandKind) isForwarded() bool { return k == CmdShardGrants || k == CmdShardBound }

// isLate reports whether a command comes from a leader whose term is over, or has not begun. The time of the shard is
// not the time of the command's proposal then.
func (m *Machine) isLate(c *Command) bool {
	return m.stamp.Term != 0 && m.stamp.Term != m.clock.Term && c.Kind != CmdLead
}

func (m *Machine) lead(c *Command) {
	if !m.clock.Lead(c.Term) {
		m.refuse(protocol.StatusStale, "term %d is over", c.Term)
		return
	}
	m.accept(0)
}

// Clock returns the time of the shard, as moved by its log.
func (m *Machine) Clock() clock.Clock {
	return look(m, func(c *content) clock.Clock { return c.clock })
}

// Time returns the time of the shard in milliseconds. It only grows, and only with the log.
func (m *Machine) Time() uint64 { return m.Clock().Now }
