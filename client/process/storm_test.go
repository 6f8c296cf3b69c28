package process_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/test/clienttest"
)

// storm disturbs members: leaders move, connections are cut, sessions end, operators interfere.
type storm struct {
	g        *stage
	random   *rand.Rand
	sessions []*client.Session
	members  []*stormMember

	mu       sync.Mutex // guards what follows
	calm     bool       // rounds are completed
	sent     uint64
	handled  map[uint64]map[uint64]uint64 // by request and member: the epoch
	replied  map[uint64]map[uint64]bool   // replies received by the sender, by request and member
	epochOf  map[uint64]uint64            // the epoch of each request's sending
	coord    map[uint64]uint64            // the coordinator's member, by epoch
	complete map[uint64]int               // by epoch: how many members have handled the completion
}

// stormMember is one member, over all its memberships.
type stormMember struct {
	*process.Member
	storm  *storm
	random *rand.Rand
	busy   bool // a function of the handler runs
	last   uint64
	open   *process.Round // begun, and neither cancelled nor completed
}

// TestStorm: in spite of all disturbances each request is handled at most once, in the epoch of its sending, in its
// sender's order; each reply comes once; a begun round is cancelled or completed before the next; the end is a round
// with all members.
func TestStorm(t *testing.T) {
	for seed := range clienttest.Storms(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			play(t, 3, func(t *testing.T, g *stage) { newStorm(g, seed).run(t) })
		})
	}
}

func newStorm(g *stage, seed uint64) *storm {
	return &storm{
		g: g, random: rand.New(rand.NewPCG(seed, 0)),
		handled: make(map[uint64]map[uint64]uint64), replied: make(map[uint64]map[uint64]bool),
		epochOf: make(map[uint64]uint64), coord: make(map[uint64]uint64), complete: make(map[uint64]int),
	}
}

func (st *storm) run(t *testing.T) {
	const members = 5
	for i := range members {
		s := st.g.Session(client.Recreate())
		m := &stormMember{storm: st, random: rand.New(rand.NewPCG(uint64(i), 1))}
		var err error
		m.Member, err = process.Join(t.Context(), s, name, m.handler(t), process.WithName(fmt.Sprint("member ", i)))
		clienttest.Check(t, err)
		st.sessions, st.members = append(st.sessions, s), append(st.members, m)
	}
	for range 60 {
		st.disturb(t)
		time.Sleep(time.Duration(st.random.IntN(1500)) * time.Millisecond)
	}
	st.mu.Lock()
	st.calm = true
	st.mu.Unlock()
	s := st.g.awaitState("complete with all", func(s *process.State) bool {
		for i := range s.Members {
			if s.Members[i].Completed != s.Epoch {
				return false
			}
		}
		return s.Phase == process.Complete && s.Of == members && !s.Opening
	})
	for _, m := range st.members {
		clienttest.Check(t, m.Err())
		clienttest.Check(t, m.Leave(t.Context()))
		if m.open != nil {
			t.Errorf("a round was begun, and neither cancelled nor completed: %d", m.open.Epoch())
		}
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.complete[s.Epoch] != members || len(st.handled) < 100 {
		t.Errorf("%d members have completed epoch %d; %d requests", st.complete[s.Epoch], s.Epoch, len(st.handled))
	}
	st.checkReplies(t)
	t.Logf("%d epochs, %d of them completed, %d requests", len(st.coord), len(st.complete), len(st.handled))
}

// checkReplies checks that each member listed as a replier has handled the request.
func (st *storm) checkReplies(t *testing.T) {
	for request, from := range st.replied {
		for member := range from {
			if st.handled[request][member] == 0 {
				t.Errorf("%d has replied to %d, and has not handled it", member, request)
			}
		}
	}
}

// disturb makes one random disturbance.
func (st *storm) disturb(t *testing.T) {
	switch st.random.IntN(8) {
	case 0, 1:
		clienttest.Lead(t, st.g.Server, clusterHost(st.random.Uint64()))
	case 2, 3, 4:
		st.g.Server.CutClients(clusterHost(st.random.Uint64()))
	case 5:
		if s := st.sessions[st.random.IntN(len(st.sessions))]; s.ID() != 0 {
			st.g.Destroy(s)
		}
	case 6:
		clienttest.Check(t, process.NewInSession(st.g.Session(), name).Restart(t.Context(), by))
	}
}

func (m *stormMember) handler(t *testing.T) process.Handler {
	return process.Handler{
		Prepare: func(_ context.Context, r *process.Round) error {
			defer m.enter(t)()
			m.begin(t, r)
			return nil
		},
		Coordinate: func(ctx context.Context, r *process.Round) (any, error) { return m.coordinate(ctx, t, r) },
		Request: func(ctx context.Context, r *process.Round, q *process.Request) (any, error) {
			defer m.enter(t)()
			return m.process(ctx, t, r, q)
		},
		Complete: func(_ context.Context, r *process.Round, _ *process.Result) {
			defer m.enter(t)()
			m.end(t, r)
			m.storm.mu.Lock()
			defer m.storm.mu.Unlock()
			m.storm.complete[r.Epoch()]++
		},
		Cancel: func(r *process.Round) {
			defer m.enter(t)()
			m.end(t, r)
		},
		Terminate: func() {
			defer m.enter(t)()
			if m.open != nil {
				t.Errorf("a membership ends, and epoch %d was neither cancelled nor completed", m.open.Epoch())
			}
		},
	}
}

// enter checks that no other function runs. The caller calls the result at the end.
func (m *stormMember) enter(t *testing.T) func() {
	if m.busy {
		t.Error("two functions of a handler run")
	}
	m.busy = true
	return func() { m.busy = false }
}

func (m *stormMember) begin(t *testing.T, r *process.Round) {
	if m.open != nil {
		t.Errorf("epoch %d begins before %d was cancelled", r.Epoch(), m.open.Epoch())
	}
	if r.Epoch() <= m.last {
		t.Errorf("epoch %d begins after %d", r.Epoch(), m.last)
	}
	m.open, m.last = r, r.Epoch()
	m.storm.mu.Lock()
	defer m.storm.mu.Unlock()
	if other := m.storm.coord[r.Epoch()]; other != 0 && other != r.Coordinator() {
		t.Errorf("epoch %d is coordinated by %d and %d", r.Epoch(), other, r.Coordinator())
	}
	m.storm.coord[r.Epoch()] = r.Coordinator()
}

func (m *stormMember) end(t *testing.T, r *process.Round) {
	if m.open != r {
		t.Errorf("epoch %d ends, and was not begun", r.Epoch())
	}
	m.open = nil
}

// coordinate sends requests until the round is over, or all is calm.
func (m *stormMember) coordinate(ctx context.Context, t *testing.T, r *process.Round) (any, error) {
	for {
		m.storm.mu.Lock()
		calm := m.storm.calm
		m.storm.mu.Unlock()
		if err := m.ask(ctx, t, r, true); err != nil || calm || m.random.IntN(20) == 0 {
			return nil, err
		}
		time.Sleep(time.Duration(m.random.IntN(100)) * time.Millisecond)
	}
}

// message is a storm's request, identified by its number.
type message struct {
	Number uint64
	PassOn bool
}

// ask broadcasts a request and checks the replies.
func (m *stormMember) ask(ctx context.Context, t *testing.T, r *process.Round, passOn bool) error {
	st := m.storm
	st.mu.Lock()
	st.sent++
	number := st.sent
	st.epochOf[number] = r.Epoch()
	st.mu.Unlock()
	replies, err := r.Broadcast(ctx, message{number, passOn})
	if cancelled := (*process.CancelledError)(nil); errors.As(err, &cancelled) {
		replies = cancelled.Replies
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.replied[number] = make(map[uint64]bool)
	for _, reply := range replies {
		if st.replied[number][reply.From] {
			t.Errorf("%d replies twice to %d", reply.From, number)
		}
		st.replied[number][reply.From] = true
	}
	switch failure := (*process.MemberFailedError)(nil); {
	case err == nil && len(replies) != r.Size():
		t.Errorf("%d of %d have replied, and that is all", len(replies), r.Size())
	case errors.As(err, &failure):
		return nil
	}
	return err
}

func (m *stormMember) process(ctx context.Context, t *testing.T, r *process.Round, q *process.Request) (any, error) {
	var asked message
	if err := q.Decode(&asked); err != nil {
		return nil, err
	}
	m.note(t, r, q, asked.Number)
	switch m.random.IntN(6) {
	case 0:
		return nil, errors.New("it fails now and then")
	case 1:
		reply := q.Defer()
		go func() {
			if asked.PassOn {
				_ = m.ask(r.Context(), t, r, false) // ask checks the outcome
			}
			_ = reply.Reply(r.Context(), asked.Number) // the round may be over
		}()
	case 2:
		time.Sleep(time.Duration(m.random.IntN(50)) * time.Millisecond)
	}
	return asked.Number, ctx.Err()
}

// note records the handling of a request.
func (m *stormMember) note(t *testing.T, r *process.Round, q *process.Request, number uint64) {
	st := m.storm
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.handled[number] == nil {
		st.handled[number] = make(map[uint64]uint64)
	}
	if st.handled[number][r.Self()] != 0 {
		t.Errorf("%d handles %d twice", r.Self(), number)
	}
	st.handled[number][r.Self()] = r.Epoch()
	if st.epochOf[number] != r.Epoch() || m.open != r {
		t.Errorf("%d of epoch %d is handled in epoch %d", number, st.epochOf[number], r.Epoch())
	}
}
