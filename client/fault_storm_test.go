package client_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
)

// playFake is play on the fake cluster, for tests with faults.
func playFake(t *testing.T, hosts, shards int, f func(t *testing.T, fake *fakeCluster, c *client.Client)) {
	t.Helper()
	playOn(t, func(t *testing.T) *fakeCluster { return newFakeCluster(t, hosts, shards) }, f)
}

// TestNothingIsLeftBehindWhateverHappensToAnswers: answers are late, lost after the change or before it, refused for a
// moment; connections break at the worst time, and leaders move.
func TestNothingIsLeftBehindWhateverHappensToAnswers(t *testing.T) {
	for seed := range uint64(storms) {
		playFake(t, 3, 3, func(t *testing.T, fake *fakeCluster, c *client.Client) {
			var mu sync.Mutex
			chance := rand.New(rand.NewPCG(seed, 2000))
			rage(t, seed, c, 150*time.Millisecond, func(random *rand.Rand) {
				switch {
				case random == nil:
					fake.on(nil)
				case random.IntN(10) == 0:
					fake.lead(random.IntN(3))
				default:
					fake.on(func(_ *fakeHost, r *protocol.Request) fault {
						mu.Lock()
						defer mu.Unlock()
						if r.Kind == protocol.KindHello {
							return fault{}
						}
						switch chance.IntN(25) {
						case 0:
							return fault{silent: true, cut: true}
						case 1:
							return fault{ignore: true, cut: true}
						case 2:
							return fault{
								refuse: &protocol.Result{Status: protocol.StatusUnavailable},
								after:  chance.IntN(2) == 0,
							}
						case 3:
							return fault{refuse: &protocol.Result{Status: protocol.StatusOverloaded, WaitMillis: 5}}
						case 4:
							return fault{delay: time.Duration(chance.IntN(200)) * time.Millisecond,
								cut: chance.IntN(2) == 0}
						case 5, 6, 7, 8, 9:
							return fault{delay: time.Duration(chance.IntN(20)) * time.Millisecond}
						}
						return fault{}
					})
				}
			}, client.SessionTimeout(20*time.Second))
		})
	}
}
