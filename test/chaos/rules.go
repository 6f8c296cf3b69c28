//go:build linux

package chaos

import (
	"fmt"

	"github.com/signalbox/signalbox/test/history"
)

// check returns where a history breaks a rule, and for how many semaphores a rule could not be decided.
func check(h *history.History) (found []history.Finding, undecided int) {
	found, open := history.Check(h)
	for _, text := range Revisions(h) {
		found = append(found, history.Finding{Rule: "revisions", Text: text})
	}
	return found, len(open)
}

// Revisions checks that of the updates that were each to replace one revision of a semaphore, at most one took effect.
func Revisions(h *history.History) (found []string) {
	type revision struct {
		of history.Semaphore
		is uint64
	}
	first := make(map[revision]*history.Operation)
	for i := range h.Operations {
		o := &h.Operations[i]
		if o.Kind != history.Update || o.Revision == 0 || o.Outcome != history.Done {
			continue
		}
		r := revision{o.Semaphore, o.Revision}
		if other := first[r]; other != nil {
			found = append(found, fmt.Sprintf("%v: revision %d was replaced by %q, and at %v by %q again",
				r.of, r.is, other.Data, o.Returned, o.Data))
			continue
		}
		first[r] = o
	}
	return found
}

// Rules is how many rules every act is checked by: those of test/history, linear, revisions, created, counters, static
// data, sessions that only hosts have, dropped nodes, hosts that run and end as they should, shards that are led, and
// hosts and replicas that are as they are to be in the end.
var Rules = len(history.Rules) + 10
