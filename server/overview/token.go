package overview

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/hosts"
)

// AddTokens adds the join tokens that are good or were used, or of those the ones with the given ids.
func AddTokens(to *protocol.JoinTokens, r *hosts.Records, now uint64, ids ...string) {
	for _, t := range r.ListTokens() {
		if len(ids) > 0 && !slices.Contains(ids, t.ID) {
			continue
		}
		x := protocol.JoinToken{ID: []byte(t.ID), LeftMillis: left(now, t.Until), By: []byte(t.By)}
		if t.Used != (hosts.Incarnation{}) {
			x.Used = t.Used[:]
		}
		to.Append(x)
	}
}
