package replica

import (
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/meta"
)

// metaTerm is the host's leadership of the meta shard, for the purpose of shard time. The term's first command is
// proposed when the leadership begins. The term's time begins when the command is applied, so no command waits for
// the first one.
type metaTerm struct {
	mu       sync.Mutex // guards the fields below
	number   uint64     // 0: the host does not lead
	proposed bool       // the first command is in progress
	begun    bool       // the command was applied
	zero     time.Time  // when it was applied
}

// changed records the leader.
func (t *metaTerm) changed(l shard.Leadership, me shard.HostID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case l.Leader != me:
		t.number, t.proposed, t.begun = 0, false, false
	case l.Term != t.number:
		t.number, t.proposed, t.begun = l.Term, false, false
	}
}

// begin returns the term whose first command must be proposed. ok is false if no command is due.
func (t *metaTerm) begin() (number uint64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.number == 0 || t.proposed {
		return 0, false
	}
	t.proposed = true
	return t.number, true
}

// lost is called when a term's first command was not applied, as far as known.
func (t *metaTerm) lost(number uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.number == number && !t.begun {
		t.proposed = false
	}
}

// applied is called when a term's first command was applied. The first call begins the term's time.
func (t *metaTerm) applied(number uint64, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.number == number && !t.begun {
		t.proposed, t.begun, t.zero = true, true, now
	}
}

// stamp returns the stamp for a batch that is proposed now. The stamp has no term if the host does not lead, or has
// not proposed its term's first command.
func (t *metaTerm) stamp(now time.Time) (s clock.Stamp) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.proposed {
		s.Term = t.number
	}
	if t.begun {
		s.Elapsed = uint64(max(now.Sub(t.zero), 0) / time.Millisecond)
	}
	return s
}

// beginTerm proposes the first command in a term led by the host.
func (m *Meta) beginTerm() {
	if number, ok := m.term.begin(); ok {
		m.propose(func(e *meta.Effect, _ protocol.Status) {
			if e == nil || e.Status != protocol.StatusSuccess {
				m.term.lost(number) // the next upkeep proposes the command again
			}
		}, meta.Command{Kind: meta.CmdLead, Term: number})
	}
}
