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

// TestEachSDKsWayWithPings: what the sources of the SDKs do with a ping of the server, and with pings of their own.
// Each keeps its stream for as long as it answers its way, and gets exactly one pong for each ping of its own: those of
// C++ have the numbers of its requests, which are the gateway's as well.
func TestEachSDKsWayWithPings(t *testing.T) {
	for sdk, of := range map[string]struct {
		answers func(opaque uint64) *request
		own     bool // it pings as well, and gives up where no pong comes
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
						c.send(ping(m.GetPing().Opaque)) // a number of its own, which happens to be the same
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
