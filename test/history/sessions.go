package history

import (
	"fmt"
	"time"
)

// recoveryTime is how long after a fault a client may still be disturbed by it.
const recoveryTime = 3 * time.Second

// Sessions checks that no host ends a session whose client still believes in it, and that no client has to give one up
// by its own clock unless there was a fault within the session's timeout before.
func Sessions(h *History) (found []string) {
	removals := removalsOf(h)
	for i := range h.Sessions {
		s := &h.Sessions[i]
		switch s.End {
		case Expired:
			if removals.from(Semaphore{Node: s.Node}, s.ID, s.From) <= s.To || h.lostHome(s) {
				continue // it was removed before
			}
			found = append(found,
				fmt.Sprintf("session %x of client %d was ended by a host at %v, though its client believed in it: %s",
					s.ID, s.Client, s.To, s.Detail))
		case Silent:
			if !h.disturbed(s.Client, s.To-s.Timeout-recoveryTime, s.To) {
				found = append(found,
					fmt.Sprintf("session %x of client %d, timeout %v, was given up at %v, though nothing was wrong: %s",
						s.ID, s.Client, s.Timeout, s.To, s.Detail))
			}
		}
	}
	return found
}

// disturbed reports whether there was a fault for a client at some moment between two; for any client, if it is
// negative.
func (h *History) disturbed(client int, from, to Time) bool {
	for _, f := range h.Faults {
		if (client < 0 || f.Client < 0 || f.Client == client) && f.From < to && f.To > from {
			return true
		}
	}
	return false
}
