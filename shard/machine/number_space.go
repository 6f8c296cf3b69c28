package machine

import (
	"math"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// A gateway stores nothing about a session between two streams, and each shard knows only the numbers of mutations
// applied by the shard itself. So the session's home gives each stream a new number space.

// lastNumberSpace is the last space: all its numbers fit into 64 bits.
const lastNumberSpace = math.MaxUint64/protocol.SequencesPerAttach - 1

// numberSpaceOf returns the space that contains a number.
func numberSpaceOf(number uint64) uint64 { return number / protocol.SequencesPerAttach }

// drawNumbers draws the session's next space of numbers.
func (se *Sessions) drawNumbers(c *shard.Command) Outcome {
	h, refusal := se.atHome(c)
	if h == 0 {
		return Outcome{Status: refusal}
	}
	s := se.At(h)
	space := max(s.numberSpace, numberSpaceOf(s.applied)) + 1
	if space = max(space, c.Count); space > lastNumberSpace {
		return Outcome{Status: protocol.StatusPreconditionFailed}
	}
	se.core.Snapshots.touchSession(h)
	s.numberSpace = space
	se.core.Run.PlaceResult().Number = space * protocol.SequencesPerAttach
	return Outcome{}
}

// atHome finds the session for a command that only the session's own client may send, and checks the key. If the
// session is missing or the key is wrong, atHome returns zero and the reason.
func (se *Sessions) atHome(c *shard.Command) (_ arena.Handle, refusal protocol.Status) {
	if !se.core.slots.Has(c.Session.Slot()) {
		return 0, protocol.StatusMoved
	}
	h := se.Alive(c.Session)
	if h == 0 {
		return 0, protocol.StatusSessionExpired
	}
	if s := se.At(h); s.keyLen > 0 && string(s.key[:s.keyLen]) != string(c.Key) {
		return 0, protocol.StatusBadSession
	}
	return h, protocol.StatusSuccess
}
