package history_test

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/history"
)

// recovery is a recovery of the slot's shard, between two times.
func recovery(slot shard.Slot, from, to history.Time) history.Recovery {
	r := history.Recovery{From: from, To: to, Node: lock.Node, NodeID: 1}
	r.Slots.Add(slot, slot)
	return r
}

// TestOnlyWhatARecoveryMayTakeIsLost checks histories with a rebuilt shard.
func TestOnlyWhatARecoveryMayTakeIsLost(t *testing.T) {
	slot := shard.SlotOf(1, []byte(lock.Name))
	home := uint64(shard.NewSessionID(slot, 1))
	away := uint64(shard.NewSessionID(slot+1, 1))
	free := history.State{Exists: true, Limit: 1, Revision: 9}
	expired := func(h *history.History) {
		h.Sessions = []history.Session{{ID: home, Node: lock.Node, From: 5, To: 25, End: history.Expired}}
	}
	lost := func(h *history.History) {
		h.Operations = append(h.Operations, acquired(home, 1, 10, 11), shown(40, 41, free))
	}
	twice := func(h *history.History) {
		h.Holds = []history.Hold{hold(home, 1, 10, 45), hold(2, 2, 42, 50)}
	}
	slowly := func(client int) func(*history.History) {
		return func(h *history.History) {
			h.Sessions = []history.Session{{ID: away, Client: 1, Node: lock.Node, From: 5, To: history.Never}}
			h.Holds = []history.Hold{hold(away, 1, 10, 45), hold(2, 2, 42, 50)}
			h.Faults = []history.Fault{{From: 25, To: 44, What: "slow client", Client: client}}
		}
	}
	late := func(h *history.History) {
		slowly(1)(h)
		h.Holds[0].To, h.Holds[1].To = history.Time(4*time.Second), history.Time(4*time.Second)
	}
	after := func(h *history.History) {
		slowly(1)(h)
		h.Holds = []history.Hold{hold(away, 2, history.Time(5*time.Second), history.Time(6*time.Second))}
	}
	used := func(h *history.History) {
		h.Numbered = []history.Numbered{{Semaphore: lock, Session: home, Number: 1, Kind: history.Acquire, Order: 7,
			From: 10, At: 11, To: 40}}
	}
	for _, c := range []struct {
		name   string
		of     history.Recovery
		rule   string // broken rule; empty for none
		change func(*history.History)
	}{
		{"a session whose home is made anew is over", recovery(slot, 20, 30), "", expired},
		{"a session with another home is over", recovery(slot+1, 20, 30), "sessions", expired},
		{"a session is over before", recovery(slot, 26, 30), "sessions", expired},
		{"an owner owns no more", recovery(slot, 20, 30), "", lost},
		{"an owner in another shard owns no more", recovery(slot+1, 20, 30), "linear", lost},
		{"an owner owns no more, and the shard is made anew later", recovery(slot, 42, 50), "linear", lost},
		{"two own at once", recovery(slot, 20, 30), "holders", twice},
		{"two own at once, and one of them could not ask in time", recovery(slot, 20, 30), "", slowly(1)},
		{"two own at once, and another client could not ask", recovery(slot, 20, 30), "holders", slowly(2)},
		{"two own at once, long after one could not ask", recovery(slot, 20, 30), "holders", late},
		{"one owns after its client could not ask", recovery(slot, 20, history.Time(9*time.Second)), "", after},
		{"what was acquired under a number is gone", recovery(slot, 20, 30), "", used},
		{"what was acquired in another shard is gone", recovery(slot+1, 20, 30), "numbers", used},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := made(c.change)
			h.Recoveries = []history.Recovery{c.of}
			found, _ := history.Check(h)
			switch {
			case c.rule == "" && len(found) > 0:
				t.Errorf("found %v", found)
			case c.rule != "" && (len(found) == 0 || found[0].Rule != c.rule):
				t.Errorf("found %v, and the rule %s is broken", found, c.rule)
			}
		})
	}
}
