package meta

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Snapshot records; some record parts are command parts too. A record ends with its last field, so records follow each
// other directly.

func (c *Config) fields(f *codec.Coder) {
	codec.Uint(f, &c.SelfCheckPeriodMillis)
	codec.Uint(f, &c.SessionGracePeriodMillis)
	codec.Byte(f, &c.ReadConsistency)
	codec.Byte(f, &c.AttachConsistency)
	codec.Byte(f, &c.RateLimiterCountersMode)
	codec.Uint(f, &c.QuotaObjects)
	codec.Uint(f, &c.QuotaBytes)
	codeAsked(f, &c.Asked)
	codec.Uint(f, &c.LongestWaitMillis)
}

// askedFields are the numbers, in encoding order.
func askedFields(a *protocol.AskedConfig) [5]*uint64 {
	return [...]*uint64{
		&a.SelfCheckPeriodMillis, &a.SessionGracePeriodMillis, &a.ReadConsistency, &a.AttachConsistency,
		&a.RateLimiterCountersMode,
	}
}

// codeAsked encodes or decodes the number count, 0 for an empty AskedConfig, and the numbers.
func codeAsked(c *codec.Coder, a *protocol.AskedConfig) {
	all := askedFields(a)
	var list []uint64
	if *a != (protocol.AskedConfig{}) {
		for _, p := range all {
			list = append(list, *p)
		}
	}
	codec.Uints(c, &list, anyLength)
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

func (n *Node) fields(c *codec.Coder) {
	c.Text(&n.Path, anyLength)
	codec.Uint(c, &n.ID)
	n.Config.fields(c)
	codec.Uint(c, &n.Version)
	codec.Uint(c, &n.Timing.Since)
	codec.Uint(c, &n.Timing.GraceFloorMillis)
	codec.Uint(c, &n.Timing.GraceCeilingMillis)
	codec.Uint(c, &n.Timing.SelfCheckCeilingMillis)
	codec.Uint(c, &n.Timed)
}

func (d *Dropped) fields(c *codec.Coder) {
	codec.Uint(c, &d.ID)
	codec.Uint(c, &d.Version)
	codec.Uints(c, &d.Pending, anyLength)
}

// registered encodes or decodes the fields a host registers.
func (h *Host) registered(c *codec.Coder) {
	codec.Uint(c, &h.ID)
	c.Text(&h.Name, anyLength)
	c.Text(&h.RaftAddress, anyLength)
	c.Text(&h.ClientAddress, anyLength)
	c.Text(&h.AdminAddress, anyLength)
	c.Text(&h.Version, anyLength)
}

func (h *Host) fields(c *codec.Coder) {
	h.registered(c)
	codec.Byte(c, &h.Current)
	codec.Byte(c, &h.Target)
	codec.Uint(c, &h.Changed)
	codec.Uint(c, &h.Seen)
	codec.Byte(c, &h.Level)
}

// fields encodes or decodes the part that does not follow from the host records.
func (r *Routing) fields(c *codec.Coder) {
	codec.Uint(c, &r.Version)
	c.Text(&r.Cluster, anyLength)
	codec.Uints(c, &r.Shards, anyLength)
}
