package history

import (
	"fmt"
	"time"
)

// recoveryTime is how long a fault may disturb a client.
const recoveryTime = 3 * time.Second

// Sessions checks that no host ends a session while the client relies on it, and that no client gives up a session by
// its own clock without a fault within the preceding session timeout.
func Sessions(h *History) (found []string) {
	removals := removalsOf(h)
	for i := range h.Sessions {
		s := &h.Sessions[i]
		switch s.End {
		case Expired:
			if removals.from(Semaphore{Node: s.Node}, s.ID, s.From) <= s.To || h.lostHome(s) {
				continue // removed before
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

// disturbed reports whether a fault affected a client between two times; any client, if negative.
func (h *History) disturbed(client int, from, to Time) bool {
	for _, f := range h.Faults {
		if (client < 0 || f.Client < 0 || f.Client == client) && f.From < to && f.To > from {
			return true
		}
	}
	return false
}
