package assign_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/assign"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/clienttest"
)

func TestMain(m *testing.M) { clienttest.Main(m) }

const name = "parts"

// handedOver is the bubble's time after which all parts are handed over, unless a stop takes long.
const handedOver = 10 * time.Second

// stage is a cluster with members of an assignment, for one test. A part must never have two owners.
type stage struct {
	*clienttest.Stage
	t      *testing.T
	parts  assign.PartitionSource
	ledger ledger
}

func play(t *testing.T, hosts int, parts assign.PartitionSource, f func(t *testing.T, g *stage)) {
	t.Helper()
	clienttest.Play(t, hosts, func(t *testing.T, g *clienttest.Stage) {
		f(t, &stage{Stage: g, t: t, parts: parts, ledger: ledger{works: make(map[string][]*work)}})
	})
}

// ledger records the work on each part.
type ledger struct {
	mu    sync.Mutex
	works map[string][]*work // by part, in the order of their begin
}

// work is one call of the member's function.
type work struct {
	part   assign.Partition
	member string
	ctx    context.Context
	ended  bool // the function has returned; guarded by the ledger's lock
}

// begin records a call and checks that no other call works on the part.
func (l *ledger) begin(t *testing.T, w *work) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.works[w.part.Name]
	for _, other := range before {
		if other.ctx.Err() == nil && !other.ended && w.ctx.Err() == nil {
			t.Errorf("%s is worked on by %s with the token %d, and by %s with %d", w.part.Name, other.member,
				other.part.Token, w.member, w.part.Token)
		}
	}
	if n := len(before); n > 0 {
		last := before[n-1]
		if last.part.Token > w.part.Token || last.part.Token == w.part.Token && last.member != w.member {
			t.Errorf("%s has the token %d at %s after %d at %s", w.part.Name, w.part.Token, w.member, last.part.Token,
				last.member)
		}
	}
	l.works[w.part.Name] = append(before, w)
}

func (l *ledger) end(w *work) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.ended = true
}

// calls is how often the function was called for a part.
func (l *ledger) calls(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.works[part])
}

// member is a member of the assignment.
type member struct {
	*assign.Member
	name    string
	session *client.Session
	stage   *stage
	// drain is the time, by part, between the end of the context and the function's return.
	drain func(part string) time.Duration
}

// join makes a member with its own session.
func (st *stage) join(name string, options ...assign.Option) *member {
	st.t.Helper()
	return st.joinBy(st.Session(client.Recreate()), name, options...)
}

func (st *stage) joinBy(s *client.Session, by string, options ...assign.Option) *member {
	st.t.Helper()
	m := &member{name: by, session: s, stage: st, drain: func(string) time.Duration { return 0 }}
	var err error
	m.Member, err = assign.Join(st.t.Context(), s, name, st.parts, m.work, append(options, assign.WithName(by))...)
	clienttest.Check(st.t, err)
	st.t.Cleanup(func() { _ = m.Leave(context.Background()) })
	return m
}

func (m *member) work(ctx context.Context, p assign.Partition) error {
	w := &work{part: p, member: m.name, ctx: ctx}
	m.stage.ledger.begin(m.stage.t, w)
	defer m.stage.ledger.end(w)
	<-ctx.Done()
	time.Sleep(m.drain(p.Name))
	return context.Cause(ctx)
}

// has returns the member's parts, without parts that are stopping.
func (m *member) has() (parts []string) {
	for _, h := range m.Partitions() {
		if !h.Stopping {
			parts = append(parts, h.Name)
		}
	}
	return parts
}

// shares checks that each part has one owner, and that the members have these numbers of parts.
func (st *stage) shares(members []*member, want ...int) {
	st.t.Helper()
	time.Sleep(handedOver)
	synctest.Wait()
	var all []string
	a := st.assignment()
	for i, m := range members {
		has := m.has()
		if len(has) != want[i] {
			st.t.Errorf("%s has %v, want %d", m.name, has, want[i])
		}
		for _, part := range has {
			owner, p := a.OwnerOf(part)
			if owner == nil || owner.Name != m.name || !slices.ContainsFunc(m.Partitions(),
				func(h assign.OwnedPartition) bool {
					return h.Partition == p
				}) {
				st.t.Errorf("%s has %s, and the assignment says %+v, %+v", m.name, part, owner, p)
			}
		}
		all = append(all, has...)
	}
	slices.Sort(all)
	if parts, err := st.parts(); err == nil && !slices.Equal(all, slices.Sorted(slices.Values(parts))) {
		st.t.Errorf("members have %v of %v", all, parts)
	}
}

func (st *stage) assignment() *assign.Assignment {
	st.t.Helper()
	a, err := assign.Current(st.t.Context(), st.Client, clienttest.Path, name)
	clienttest.Check(st.t, err)
	return a
}

// ends returns how the last work on a part has ended.
func (st *stage) ends(part string) error {
	st.t.Helper()
	st.ledger.mu.Lock()
	works := st.ledger.works[part]
	st.ledger.mu.Unlock()
	w := works[len(works)-1]
	select {
	case <-w.ctx.Done():
		return context.Cause(w.ctx)
	case <-time.After(time.Minute):
		st.t.Fatalf("the work on %s goes on", part)
		return nil
	}
}

func (st *stage) process() *process.Process { return process.New(st.Client, clienttest.Path, name) }

func clusterHost(n int) shard.HostID { return shard.HostID(1 + n%3) }

var errBroken = errors.New("broken")
