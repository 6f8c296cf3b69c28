//go:build linux

package chaos

import (
	"fmt"

	"github.com/signalbox/signalbox/test/history"
)

// check returns rule violations in a history, and the number of undecided semaphores.
func check(h *history.History) (found []history.Finding, undecided int) {
	found, open := history.Check(h)
	for _, text := range Revisions(h) {
		found = append(found, history.Finding{Rule: "revisions", Text: text})
	}
	return found, len(open)
}

// Revisions checks that at most one update takes effect per expected revision.
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

// Rules is how many rules are checked in every act: the rules in test/history, linear, revisions, created, counters,
// static data, host-only sessions, dropped nodes, expected host starts and exits, shard leadership, and the final host
// and replica states.
var Rules = len(history.Rules) + 10
