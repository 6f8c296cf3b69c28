package governor

import (
	"cmp"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Choose returns a host for the first replica of each added shard. If no host can take a replica now, against is the
// reason.
func Choose(v View, shards int) (on []shard.HostID, against string) {
	c := newChooser(v)
	for range shards {
		h := c.next(func(*hosts.Host) bool { return true })
		if h == nil {
			return nil, "no host can take a shard now: " + strings.Join(c.refusals(), ", ")
		}
		on = append(on, h.ID)
	}
	return on, ""
}

// chooser chooses hosts for the first replicas of added shards.
type chooser struct {
	v      View
	takers []*hosts.Host
	load   map[shard.HostID]score // by the weights, if data shards have replicas on only some hosts
	leads  map[shard.HostID]int   // shards that the host leads, or will lead first
}

func newChooser(v View) *chooser {
	c := &chooser{v: v, takers: takers(v), load: make(map[shard.HostID]score), leads: make(map[shard.HostID]int)}
	for _, g := range groups(v) {
		for _, m := range g.stay {
			c.load[m.Host] += unit(m.host)
		}
		if p := g.shard.InitialReplica(); p != nil {
			c.leads[p.Host]++
		} else {
			c.leads[g.seen.Leader]++
		}
	}
	return c
}

// next returns the suitable host with the lowest score, then with the fewest leaderships, and counts a new shard for
// the host. Without a suitable host, next returns nil.
func (c *chooser) next(suits func(*hosts.Host) bool) *hosts.Host {
	list := slices.DeleteFunc(slices.Clone(c.takers), func(h *hosts.Host) bool { return !suits(h) })
	if len(list) == 0 {
		return nil
	}
	best := slices.MinFunc(list, func(a, b *hosts.Host) int {
		return cmp.Or(c.load[a.ID]-c.load[b.ID], c.leads[a.ID]-c.leads[b.ID], cmp.Compare(a.ID, b.ID))
	})
	if c.leads[best.ID]++; c.v.State.Spread() {
		c.load[best.ID] += unit(best)
	}
	return best
}

// refusals explains why each host takes no replica.
func (c *chooser) refusals() (list []string) {
	for _, h := range c.v.State.Hosts() {
		if h.Living() {
			list = append(list, h.Name+" "+cmp.Or(unable(c.v, h), "has a replica that is to be deleted first"))
		}
	}
	return list
}

// Planned returns the number of remaining rebalancing moves for each pair of shards, in the governor's order. The list
// is empty unless hosts.Rebalance.Due is set.
func Planned(r *hosts.Records) (list []host.PlannedMoves) {
	b := newBalance(r)
	for {
		givers, takers := b.givers(), b.takers()
		if len(givers) == 0 || len(takers) == 0 {
			return list
		}
		from, into := givers[0], takers[0]
		b.spare[from]--
		b.spare[into]++
		pair := host.PlannedMoves{From: uint64(from), To: uint64(into), Slots: 1}
		i := slices.IndexFunc(list, func(p host.PlannedMoves) bool { return p.From == pair.From && p.To == pair.To })
		if i < 0 {
			list = append(list, pair)
		} else {
			list[i].Slots++
		}
	}
}
