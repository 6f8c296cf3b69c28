package governor

import (
	"cmp"
	"maps"
	"slices"

	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Redundancy is how many failures a shard tolerates. Voters count as live if their hosts were in contact in this
// governor's term. Hosts that are in contact but do not take part may vote, and are not relied on.
type Redundancy struct {
	Shard hosts.ShardID
	host.Redundancy
}

// Alive reports whether a host was in contact recently, in this governor's term.
func (s *Seen) Alive(id shard.HostID) bool { return s.live(id) }

// MayLive reports whether a host was in contact recently, or the governor has had too little time to contact it.
func (s *Seen) MayLive(id shard.HostID) bool { return s.mayLive(id) }

// Judged reports whether the governor knows for each voter's host whether the host is alive: the host was in contact in
// this governor's term, or was tried for so long that it counts as silent. Until then, a new governor must not say how
// many failures shards tolerate.
func Judged(v View) bool {
	for _, s := range v.State.Shards() {
		for i := range s.Replicas {
			if p := &s.Replicas[i]; p.Role == hosts.RoleVoter && !v.Seen.judged(p.Host) {
				return false
			}
		}
	}
	return true
}

// judged reports whether the governor knows whether a host is alive.
func (s *Seen) judged(id shard.HostID) bool {
	h := s.host(id)
	return id == s.Self || h != nil && h.Tried && !s.unheard(id)
}

// confirmMillis is how long a host may take to confirm that it is up to date, after the host or the governor started.
const confirmMillis = 10_000

// TakesPart reports whether a host confirms that it is up to date, or has had no time to confirm.
func TakesPart(v View, h *hosts.Host) bool {
	since := h.Target.Since
	if h.Online() {
		since = h.Current.Since
	}
	since = max(since, v.Seen.Began)
	return h.ID == v.Seen.Self || v.Seen.freshFor(h.ID) > 0 || v.Now < since+confirmMillis
}

// Redundancies returns how many failures each shard tolerates, by records and observations, which should be Judged. The
// view needs no plan.
func Redundancies(v View) []Redundancy {
	var list []Redundancy
	for _, s := range v.State.Shards() {
		if s.Phase == hosts.ShardRetired {
			continue
		}
		g := newGroup(v, s)
		need := hosts.Majority(len(g.voters))
		r := Redundancy{g.shard.ID, host.Redundancy{Wanted: g.wanted, Voters: len(g.voters)}}
		there, idle := make(map[host.Label]int), 0
		for _, m := range g.voters {
			if m.host != nil && v.Seen.live(m.Host) {
				r.Live++
				if !TakesPart(v, m.host) {
					idle++
				}
				for _, label := range m.host.Domain {
					there[label]++
				}
			}
		}
		if r.Tolerated = max(-1, r.Live-need); r.Tolerated > 0 {
			r.Tolerated = max(0, r.Tolerated-idle)
		}
		labels := slices.SortedFunc(maps.Keys(there), func(a, b host.Label) int {
			return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value))
		})
		for _, label := range labels {
			live := there[label]
			r.Domains = append(r.Domains,
				host.DomainLoss{Label: label.String(), Live: live, Tolerated: r.Live-live >= need})
		}
		list = append(list, r)
	}
	return list
}
