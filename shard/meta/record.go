package meta

import (
	"github.com/signalbox/signalbox/protocol"
)

// The records of snapshots; some parts of records are parts of commands too. A record ends with its last field, so
// records stand one behind the other.

func (c *Config) fields(f *coder) {
	codeNumber(f, "self_check_period_ms", &c.SelfCheckPeriodMillis)
	codeNumber(f, "session_grace_period_ms", &c.SessionGracePeriodMillis)
	codeOctet(f, "read_consistency", &c.ReadConsistency)
	codeOctet(f, "attach_consistency", &c.AttachConsistency)
	codeOctet(f, "rate_limiter_counters_mode", &c.RateLimiterCountersMode)
	codeNumber(f, "quota_objects", &c.QuotaObjects)
	codeNumber(f, "quota_bytes", &c.QuotaBytes)
	codeAsked(f, &c.Asked)
	codeNumber(f, "longest_wait_ms", &c.LongestWaitMillis)
}

// askedFields are the numbers, in the order of their form.
func askedFields(a *protocol.AskedConfig) [5]*uint64 {
	return [...]*uint64{
		&a.SelfCheckPeriodMillis, &a.SessionGracePeriodMillis, &a.ReadConsistency, &a.AttachConsistency,
		&a.RateLimiterCountersMode,
	}
}

// codeAsked codes the count of the numbers, 0 for an empty AskedConfig, and the numbers.
func codeAsked(c *coder, a *protocol.AskedConfig) {
	all := askedFields(a)
	var list []uint64
	if *a != (protocol.AskedConfig{}) {
		for _, p := range all {
			list = append(list, *p)
		}
	}
	codeNumbers(c, "asked", &list)
	switch {
	case c.from == nil:
	case len(list) != 0 && len(list) != len(all):
		c.from.fail("asked: %d numbers, %d are known", len(list), len(all))
	default:
		for i, n := range list {
			*all[i] = n
		}
	}
}

func (n *Node) fields(c *coder) {
	c.text("path", &n.Path)
	codeNumber(c, "id", &n.ID)
	n.Config.fields(c)
	codeNumber(c, "config version", &n.Version)
	codeNumber(c, "timing since", &n.Timing.Since)
	codeNumber(c, "grace floor", &n.Timing.GraceFloorMillis)
	codeNumber(c, "grace ceiling", &n.Timing.GraceCeilingMillis)
	codeNumber(c, "self-check ceiling", &n.Timing.SelfCheckCeilingMillis)
	codeNumber(c, "timed", &n.Timed)
}

func (d *Dropped) fields(c *coder) {
	codeNumber(c, "id", &d.ID)
	codeNumber(c, "version", &d.Version)
	codeNumbers(c, "pending", &d.Pending)
}

// registered codes the fields that a host registers.
func (h *Host) registered(c *coder) {
	codeNumber(c, "host id", &h.ID)
	c.text("host name", &h.Name)
	c.text("raft address", &h.RaftAddress)
	c.text("client address", &h.ClientAddress)
	c.text("admin address", &h.AdminAddress)
	c.text("host version", &h.Version)
}

func (h *Host) fields(c *coder) {
	h.registered(c)
	codeOctet(c, "current state", &h.Current)
	codeOctet(c, "target state", &h.Target)
	codeNumber(c, "changed", &h.Changed)
	codeNumber(c, "seen", &h.Seen)
	codeOctet(c, "level", &h.Level)
}

func (r *Routing) fields(c *coder) {
	codeNumber(c, "routing version", &r.Version)
	c.text("cluster", &r.Cluster)
	codeNumbers(c, "shards", &r.Shards)
	codeList(c, "ranges", &r.Ranges, func(g *SlotRange) {
		codeSlot(c, "first slot", &g.First)
		codeSlot(c, "last slot", &g.Last)
		codeNumber(c, "shard", &g.Shard)
	})
}
