package meta

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/internal/form"
)

// The records of snapshots; some parts of records are parts of commands too. A record ends with its last field, so
// records stand one behind the other.

func (c *Config) fields(f *form.Coder) {
	form.Uint(f, &c.SelfCheckPeriodMillis)
	form.Uint(f, &c.SessionGracePeriodMillis)
	form.Byte(f, &c.ReadConsistency)
	form.Byte(f, &c.AttachConsistency)
	form.Byte(f, &c.RateLimiterCountersMode)
	form.Uint(f, &c.QuotaObjects)
	form.Uint(f, &c.QuotaBytes)
	codeAsked(f, &c.Asked)
	form.Uint(f, &c.LongestWaitMillis)
}

// askedFields are the numbers, in the order of their form.
func askedFields(a *protocol.AskedConfig) [5]*uint64 {
	return [...]*uint64{
		&a.SelfCheckPeriodMillis, &a.SessionGracePeriodMillis, &a.ReadConsistency, &a.AttachConsistency,
		&a.RateLimiterCountersMode,
	}
}

// codeAsked codes the count of the numbers, 0 for an empty AskedConfig, and the numbers.
func codeAsked(c *form.Coder, a *protocol.AskedConfig) {
	all := askedFields(a)
	var list []uint64
	if *a != (protocol.AskedConfig{}) {
		for _, p := range all {
			list = append(list, *p)
		}
	}
	form.Uints(c, &list, anyLength)
	switch {
	case !c.Reading():
	case len(list) != 0 && len(list) != len(all):
		c.Fail("asked: %d numbers, %d are known", len(list), len(all))
	default:
		for i, n := range list {
			*all[i] = n
		}
	}
}

func (n *Node) fields(c *form.Coder) {
	c.Text(&n.Path, anyLength)
	form.Uint(c, &n.ID)
	n.Config.fields(c)
	form.Uint(c, &n.Version)
	form.Uint(c, &n.Timing.Since)
	form.Uint(c, &n.Timing.GraceFloorMillis)
	form.Uint(c, &n.Timing.GraceCeilingMillis)
	form.Uint(c, &n.Timing.SelfCheckCeilingMillis)
	form.Uint(c, &n.Timed)
}

func (d *Dropped) fields(c *form.Coder) {
	form.Uint(c, &d.ID)
	form.Uint(c, &d.Version)
	form.Uints(c, &d.Pending, anyLength)
}

// registered codes the fields that a host registers.
func (h *Host) registered(c *form.Coder) {
	form.Uint(c, &h.ID)
	c.Text(&h.Name, anyLength)
	c.Text(&h.RaftAddress, anyLength)
	c.Text(&h.ClientAddress, anyLength)
	c.Text(&h.AdminAddress, anyLength)
	c.Text(&h.Version, anyLength)
}

func (h *Host) fields(c *form.Coder) {
	h.registered(c)
	form.Byte(c, &h.Current)
	form.Byte(c, &h.Target)
	form.Uint(c, &h.Changed)
	form.Uint(c, &h.Seen)
	form.Byte(c, &h.Level)
}

func (r *Routing) fields(c *form.Coder) {
	form.Uint(c, &r.Version)
	c.Text(&r.Cluster, anyLength)
	form.Uints(c, &r.Shards, anyLength)
	form.List(c, &r.Ranges, anyLength, func(g *SlotRange) {
		form.Small(c, &g.First)
		form.Small(c, &g.Last)
		form.Uint(c, &g.Shard)
	})
}
