package history

import (
	"fmt"
	"time"
)

// recovery is how long after a fault a client may still suffer from it.
const recovery = 3 * time.Second

// Sessions: no host ends a session whose client still believes in it, and no client has to give one up by its
// own clock unless something was wrong within the session's timeout before.
func Sessions(h *History) (found []string) {
	excuses := excusesOf(h)
	for i := range h.Sessions {
		s := &h.Sessions[i]
		switch s.End {
		case Expired:
			if excuses.from(Semaphore{Node: s.Node}, s.ID, s.From) <= s.To {
				continue // whoever looked later found it gone
			}
			found = append(found, fmt.Sprintf("session %x of client %d was ended by a host at %v, though its client believed in it: %s",
				s.ID, s.Client, s.To, s.Detail))
		case Silent:
			if !h.suffered(s.Client, s.To-s.Timeout-recovery, s.To) {
				found = append(found, fmt.Sprintf("session %x of client %d, timeout %v, was given up at %v, though nothing was wrong: %s",
					s.ID, s.Client, s.Timeout, s.To, s.Detail))
			}
		}
	}
	return found
}

// suffered tells whether something was wrong for a client at some moment between two; for any client, if it is
// negative.
func (h *History) suffered(client int, from, to Time) bool {
	for _, f := range h.Faults {
		if (client < 0 || f.Client < 0 || f.Client == client) && f.From < to && f.To > from {
			return true
		}
	}
	return false
}
