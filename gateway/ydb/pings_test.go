package ydb_test

import (
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
)

func ping(opaque uint64) *request {
	return &request{Request: &Ydb_Coordination.SessionRequest_Ping{
		Ping: &Ydb_Coordination.SessionRequest_PingPong{Opaque: opaque},
	}}
}

func pong(opaque uint64) *request {
	return &request{Request: &Ydb_Coordination.SessionRequest_Pong{
		Pong: &Ydb_Coordination.SessionRequest_PingPong{Opaque: opaque},
	}}
}

// TestEachSDKsWayWithPings follows the SDKs' sources: their answers to the server's pings, and their own pings. Each
// SDK keeps its stream as long as the SDK answers, and gets exactly one pong per ping; the C++ SDK numbers pings like
// its requests, and the gateway uses the same numbers.
func TestEachSDKsWayWithPings(t *testing.T) {
	for sdk, of := range map[string]struct {
		answers func(opaque uint64) *request
		own     bool // the SDK sends pings too, and gives up without a pong
	}{
		"Go":         {answers: pong},
		"Java":       {answers: pong},
		"JavaScript": {answers: pong},
		"Python":     {answers: ping},
		"C++":        {answers: pong, own: true},
	} {
		t.Run(sdk, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1)
			r.create()
			r.heedPings = true
			r.serve()
			c := r.unheard()
			c.begin(start{timeout: 1500 * time.Millisecond})
			const rounds = 4
			var pinged, asked, answered int
			for pinged < rounds || answered < asked {
				m, err := c.rpc.Recv()
				switch {
				case err != nil || m.GetFailure() != nil:
					t.Fatalf("after %d pings: %v, %v", pinged, m, err)
				case m.GetPing() != nil:
					pinged++
					answer := of.answers(m.GetPing().Opaque)
					if answer.GetPing() != nil {
						asked++
					}
					if of.own {
						asked++
						c.send(ping(m.GetPing().Opaque)) // the SDK's own number, equal by chance
					}
					c.send(answer)
				case m.GetPong() != nil:
					answered++
				}
			}
			if answered != asked {
				t.Errorf("%d pings were answered by %d pongs", asked, answered)
			}
			c.acquired(c.listened().acquire("lock", 1, 0, true), true, ok)
		})
	}
}
