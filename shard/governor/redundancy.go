package governor

import (
	"cmp"
	"slices"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Redundancy is what a shard can lose and go on.
type Redundancy struct {
	Shard  hosts.ShardID
	Wanted int // how many are to vote
	Voters int
	Live   int // voters whose hosts are heard, or may be
	// Tolerated is how many more voters may fail, -1 where too few live already.
	Tolerated int
	Domains   []DomainLoss
}

// DomainLoss says of one label of a failure domain whether the shard goes on without all hosts that have it.
type DomainLoss struct {
	hosts.Label
	Live      int // voters there whose hosts are heard
	Tolerated bool
}

// Alive reports whether a host was heard lately, or may be.
func (s *Seen) Alive(id shard.HostID) bool { return s.mayLive(id) }

// Redundancies returns what each shard can lose, by what is recorded and seen.
func Redundancies(v View) []Redundancy {
	var list []Redundancy
	for _, g := range groups(v) {
		need := hosts.Majority(len(g.voters))
		r := Redundancy{Shard: g.shard.ID, Wanted: g.wanted, Voters: len(g.voters)}
		there := make(map[hosts.Label]int)
		for i := range g.voters {
			if m := &g.voters[i]; m.host != nil && v.Seen.mayLive(m.Host) {
				r.Live++
				for _, label := range m.host.Domain {
					there[label]++
				}
			}
		}
		r.Tolerated = max(-1, r.Live-need)
		for label, live := range there {
			r.Domains = append(r.Domains, DomainLoss{Label: label, Live: live, Tolerated: r.Live-live >= need})
		}
		slices.SortFunc(r.Domains, func(a, b DomainLoss) int {
			return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value))
		})
		list = append(list, r)
	}
	return list
}
