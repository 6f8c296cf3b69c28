package server_test

import (
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
)

// TestOfTwoConnectionsThatFightForASessionOneHasIt: two connections take a session from each other as fast as they can.
// What each of them heard last must be the truth: a client that believes in an attach that is over would take every
// pong for it.
func TestOfTwoConnectionsThatFightForASessionOneHasIt(t *testing.T) {
	c := servertest.Start(t)
	operator := speak(t, c, 1)
	operator.must(operator.ask(&protocol.NodeCreate{
		Path: []byte("/jobs"), Config: protocol.NodeConfig{AttachConsistency: protocol.ConsistencyRelaxed},
	}))
	a := operator.session("/jobs", time.Minute)
	rounds := 300
	if testing.Short() {
		rounds = 50
	}
	sides := [2]*speaker{speak(t, c, 1), speak(t, c, 1)}
	has := [2]bool{}
	for round := range rounds {
		var wg sync.WaitGroup
		for _, s := range sides {
			wg.Go(func() {
				for step := range 10 {
					s.burst(&protocol.SessionAttach{
						SessionID: a.id, Key: []byte("key"), AttachSequence: uint64(1 + round*10 + step),
					})
				}
			})
		}
		wg.Wait()
		// When both first pongs are there all attaches have been dealt with; what they brought about for the
		// other side is there with the second.
		for range 2 {
			for i, s := range sides {
				id := s.say(&protocol.Ping{})
				for pong := false; !pong; {
					payload, err := s.read(patience)
					if err != nil {
						t.Fatal(err)
					}
					switch m := s.decode(payload); {
					case m.Kind == protocol.KindSessionDetached:
						has[i] = false
					case m.Kind == protocol.KindSessionAttach.Answer() && m.Result.Status == protocol.StatusSuccess:
						has[i] = true
					case m.ID == id:
						pong = true
					}
				}
			}
		}
		if has[0] == has[1] {
			t.Fatalf("round %d: both heard the same, %v", round, has[0])
		}
		for i, s := range sides {
			status := s.ask(&protocol.Release{
				Mutation: protocol.Mutation{SessionID: a.id,
					Number: uint64(1 + round*2 + i)}, NodeID: a.node, Name: []byte("none"),
			}).Result.Status
			if has[i] != (status == protocol.StatusSuccess) {
				t.Fatalf("round %d: a connection that has the session is %v, and it gets %v", round, has[i], status)
			}
		}
	}
}
