//go:build linux

package chaos

import (
	"fmt"

	"github.com/signalbox/signalbox/test/history"
)

// judge returns where a history breaks a rule, and for how many semaphores one could not be decided.
func judge(h *history.History) (found []history.Finding, undecided int) {
	found, open := history.Check(h)
	for _, text := range revisions(h) {
		found = append(found, history.Finding{Rule: "revisions", Text: text})
	}
	return found, len(open)
}

// revisions: of the updates that were each to replace one revision of a semaphore, one took effect at the most.
func revisions(h *history.History) (found []string) {
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
			found = append(found, fmt.Sprintf("%v: revision %d was replaced by %q, and at %v by %q again", r.of, r.is, other.Data, o.Returned, o.Data))
			continue
		}
		first[r] = o
	}
	return found
}

// Rules is how many rules every act is judged by: those of test/history, the linear one, revisions, the ledger,
// diaries, the luggage, the census, drops, and hosts that stay and go as they should.
var Rules = len(history.Rules) + 8
