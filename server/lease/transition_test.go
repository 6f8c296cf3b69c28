package lease

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// TestATransitionThatMustNotBeHaltsTheHost plants transitions that would attach a session that may end at any time, or
// propose its end twice.
func TestATransitionThatMustNotBeHaltsTheHost(t *testing.T) {
	for what, plant := range map[string]func(*Table, *session){
		"an expiring session is attached": func(t *Table,
			s *session) {
			s.state = expiring
			t.become(s, attached)
		},
		"a doubtful session is attached": func(t *Table,
			s *session) {
			s.state = doubtful
			t.become(s, attached)
		},
		"a doubtful session is detached": func(t *Table,
			s *session) {
			s.state = doubtful
			t.setDetached(s, 0)
		},
		"an expiring session is proposed again": func(t *Table,
			s *session) {
			s.state = expiring
			t.expire(s, nil, nil)
		},
		"a session of a doubt is detached again": func(t *Table, s *session) {
			s.state, s.doubt = expiring,
				true
			t.setDetached(s, 0)
		},
		"a session that is attached is in doubt": func(t *Table,
			s *session) {
			s.state = attached
			t.become(s, doubtful)
		},
	} {
		t.Run(what, func(t *testing.T) {
			halted := false
			table, err := NewTable(Config{
				Grace: func(shard.NodeID) time.Duration { return time.Second }, Halt: func(error) { halted = true },
			})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if recover() == nil || !halted {
					t.Fatalf("it went on; Halt was called: %v", halted)
				}
			}()
			plant(table, &session{id: 1})
		})
	}
}
