package replica

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/meta"
)

// TestTheTimeOfTheMetaShardMovesWithWhatItsLeaderProposes: and not without a leader.
func TestTheTimeOfTheMetaShardMovesWithWhatItsLeaderProposes(t *testing.T) {
	var ahead atomic.Int64
	began := time.Now()
	h := standaloneWith(t, 1, level.Newest, func(c *Config) {
		c.Clock = func() time.Time { return began.Add(time.Duration(ahead.Load())) }
	})
	m := h.Meta
	begun := func() bool {
		m.term.mu.Lock()
		defer m.term.mu.Unlock()
		return m.term.begun
	}
	create := func(path string) protocol.Status {
		status := make(chan protocol.Status, 1)
		m.Propose(meta.Command{Kind: meta.CmdNodeCreate, Path: path}, func(e *meta.Effect, failed protocol.Status) {
			if e != nil {
				failed = e.Status
			}
			status <- failed
		})
		return <-status
	}
	at := func(want time.Duration) {
		t.Helper()
		if got := time.Duration(m.Machine.Time()) * time.Millisecond; got != want {
			t.Fatalf("the time of the shard is %v, want %v", got, want)
		}
	}
	until(t, "the term has begun", h, m.upkeep, begun)
	at(0)
	ahead.Add(int64(5 * time.Second))
	if s := create("/a"); s != protocol.StatusSuccess {
		t.Fatal(s)
	}
	at(5 * time.Second)

	// A new leadership on this host: its time starts when its first command is applied, and nothing waits for the
	// start.
	term := m.Machine.Clock().Term
	m.LeadershipChanged(shard.Leadership{Leader: 2, Term: term + 1})
	m.LeadershipChanged(shard.Leadership{Leader: 1, Term: term + 2})
	ahead.Add(int64(time.Hour))
	if s := create("/b"); s != protocol.StatusSuccess {
		t.Fatal(s)
	}
	at(5 * time.Second)
	until(t, "the next term has begun", h, m.upkeep, begun)
	ahead.Add(int64(time.Second))
	if s := create("/c"); s != protocol.StatusSuccess {
		t.Fatal(s)
	}
	at(6 * time.Second)
	if c := m.Machine.Clock(); c != (clock.Clock{Now: 6000, Base: 5000, Term: term + 2}) {
		t.Fatalf("%+v", c)
	}

	// A command from an earlier leader arrives late: the command has no effect, and its client must repeat it.
	data, err := m.encode(0, clock.Stamp{Term: term, Elapsed: 1 << 30},
		[]meta.Command{{Kind: meta.CmdNodeCreate, Path: "/late"}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan shard.Outcome, 1)
	if err := m.log.Propose(data, func(o shard.Outcome) { done <- o }); err != nil {
		t.Fatal(err)
	}
	if o := <-done; o != shard.OutcomeApplied {
		t.Fatal(o)
	}
	if _, there := m.Machine.Node("/late"); there {
		t.Fatal("a leader that is over made a node")
	}
	at(6 * time.Second)
}
