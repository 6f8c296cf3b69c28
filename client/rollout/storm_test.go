package rollout_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/test/clienttest"
)

// storm disturbs instances: leaders move, connections are cut, sessions end.
type storm struct {
	g        *stage
	random   *rand.Rand
	sessions []*client.Session
	runs     sync.WaitGroup

	mu   sync.Mutex // guards what follows
	uses map[string]uint64
}

// TestStorm: no instance gets an older target after a newer target; in the end all instances use the newest version,
// and hosts know this.
func TestStorm(t *testing.T) {
	for seed := range uint64(4) {
		play(t, 3, spec(), func(t *testing.T, g *stage) {
			x := &storm{g: g, random: rand.New(rand.NewPCG(seed, 0)), uses: make(map[string]uint64)}
			ctx, stop := context.WithCancel(t.Context())
			for _, location := range []string{"sas", "man", "vla"} {
				for _, instance := range []string{"a." + location, "b." + location} {
					x.start(t, ctx, location, instance, rand.New(rand.NewPCG(seed, uint64(len(x.sessions)))))
				}
			}
			publisher := g.Session()
			for i := range 30 {
				x.disturb(t)
				if i%5 == 0 {
					_, err := rollout.Publish(ctx, publisher, name, []byte{byte(i)})
					clienttest.Check(t, err)
				}
				time.Sleep(time.Duration(x.random.IntN(4000)) * time.Millisecond)
			}
			time.Sleep(5 * time.Minute)
			x.check(t, 6)
			stop()
			x.runs.Wait()
		})
	}
}

// start runs an instance that fails now and then.
func (st *storm) start(t *testing.T, ctx context.Context, location, instance string, random *rand.Rand) {
	s := st.g.Session(client.Recreate())
	st.sessions = append(st.sessions, s)
	m := st.g.joinBy(s, location, instance, rollout.Backoff(time.Second, 5*time.Second))
	st.runs.Go(func() {
		last := uint64(0)
		for target, err := range m.Targets(ctx) {
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				t.Errorf("%s: %v", instance, err)
				return
			}
			if target.Generation < last {
				t.Errorf("%s is given generation %d after %d", instance, target.Generation, last)
			}
			last = target.Generation
			time.Sleep(time.Duration(random.IntN(2000)) * time.Millisecond)
			if random.IntN(3) == 0 {
				_ = m.Failed(ctx, target, "", errApply) // after a given-up call the report continues by itself
				continue
			}
			st.mu.Lock()
			st.uses[instance] = target.Seq
			st.mu.Unlock()
			brief, cancel := context.WithTimeout(ctx, time.Duration(random.IntN(200))*time.Millisecond)
			_ = m.Reached(brief, target)
			cancel()
		}
	})
}

// disturb makes one harmless disturbance.
func (st *storm) disturb(t *testing.T) {
	switch st.random.IntN(3) {
	case 0:
		clienttest.Lead(t, st.g.Server, clusterHost(st.random.Uint64()))
	case 1:
		st.g.Server.CutClients(clusterHost(st.random.Uint64()))
	case 2:
		if s := st.sessions[st.random.IntN(len(st.sessions))]; s.ID() != 0 {
			st.g.Destroy(s)
		}
	}
}

// check checks that all instances use the version, and that hosts know.
func (st *storm) check(t *testing.T, seq uint64) {
	t.Helper()
	state := st.g.state()
	if state.Phase != rollout.Idle || state.LastSeq != seq {
		t.Errorf("the rollout is %v at version %d: %+v", state.Phase, state.LastSeq, state.Reasons)
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	for instance, used := range st.uses {
		if used != seq {
			t.Errorf("%s uses %d", instance, used)
		}
	}
	for _, l := range state.Locations {
		if l.Instances != 2 || l.Reached != 2 || l.Leaders != 2 {
			t.Errorf("hosts know %+v", l)
		}
	}
}
