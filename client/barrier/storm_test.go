package barrier_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/barrier"
	"github.com/signalbox/signalbox/test/clienttest"
)

// storm disturbs parties: leaders move, connections are cut, sessions end.
type storm struct {
	t        *testing.T
	g        *stage
	parties  int
	random   *rand.Rand
	sessions []*client.Session

	mu     sync.Mutex // guards what follows
	inside map[*barrier.Entry]bool
	newest uint64 // of all generations
	passes int
}

// TestStorm: five sessions use a barrier for two during all disturbances. All parties inside at a time are of one
// generation, with different places.
func TestStorm(t *testing.T) {
	for seed := range clienttest.Storms(6) {
		play(t, 3, func(t *testing.T, g *stage) {
			st := &storm{
				t: t, g: g, parties: 2, random: rand.New(rand.NewPCG(seed, 1)),
				inside: make(map[*barrier.Entry]bool),
			}
			ctx, stop := context.WithCancel(t.Context())
			var runs sync.WaitGroup
			for i := range 5 {
				s := g.Session(client.Recreate())
				st.sessions = append(st.sessions, s)
				random := rand.New(rand.NewPCG(seed, uint64(10+i)))
				runs.Go(func() { st.run(ctx, s, random) })
			}
			for range 40 {
				st.disturb()
				time.Sleep(time.Duration(st.random.IntN(3000)) * time.Millisecond)
			}
			st.mu.Lock()
			before := st.passes
			st.mu.Unlock()
			time.Sleep(2 * time.Minute)
			stop()
			runs.Wait()
			if st.passes < before+20 {
				t.Errorf("seed %d: %d have passed in the storm, and %d after it", seed, before, st.passes-before)
			}
			g.isEmpty(t)
		})
	}
}

// run goes through the barrier again and again, and gives up now and then.
func (st *storm) run(ctx context.Context, s *client.Session, random *rand.Rand) {
	b := barrier.New(s, name, st.parties)
	for ctx.Err() == nil {
		patience := never
		if random.IntN(3) == 0 {
			patience = time.Duration(random.IntN(3000)) * time.Millisecond
		}
		brief, cancel := context.WithTimeout(ctx, patience)
		if e, err := b.Enter(brief); err == nil {
			st.in(e)
			time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond)
			st.out(e)
			_ = e.Leave(brief)
		}
		cancel()
	}
}

// in checks the parties inside after one more entered. Parties that lost their places do not count.
func (st *storm) in(e *barrier.Entry) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.inside[e] = true
	st.passes++
	for other := range st.inside {
		if other == e || other.Err() != nil || e.Err() != nil {
			continue
		}
		if other.Generation() != e.Generation() || other.Index() == e.Index() {
			st.t.Errorf("number %d of generation %d is inside, and number %d of generation %d", other.Index(),
				other.Generation(), e.Index(), e.Generation())
		}
	}
	if e.Err() == nil && e.Generation() < st.newest {
		st.t.Errorf("generation %d is inside after %d", e.Generation(), st.newest)
	}
	st.newest = max(st.newest, e.Generation())
}

func (st *storm) out(e *barrier.Entry) {
	st.mu.Lock()
	defer st.mu.Unlock()
	delete(st.inside, e)
}

// disturb makes one random disturbance.
func (st *storm) disturb() {
	switch st.random.IntN(4) {
	case 0:
		clienttest.Lead(st.t, st.g.Server, clusterHost(st.random.IntN(3)))
	case 1:
		st.g.Server.CutClients(clusterHost(st.random.IntN(3)))
	default:
		if s := st.sessions[st.random.IntN(len(st.sessions))]; s.ID() != 0 {
			_ = st.g.Client.DestroySession(st.t.Context(), s.ID()) // the session may have ended
		}
	}
}
