package memlog

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// discarding is a state machine that drops all entries.
type discarding struct{}

func (discarding) Apply([]shard.Entry) error                { return nil }
func (discarding) PrepareSnapshot() (shard.Snapshot, error) { return nil, io.EOF }
func (discarding) Restore(io.Reader) error                  { return nil }
func (discarding) LeadershipChanged(shard.Leadership)       {}

func TestViolationsAreReported(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(*Group)
		want  string
	}{
		{
			"a follower's committed entry is replaced",
			func(g *Group) {
				s := g.replicas[2].store
				s.entries[1] = &entry{index: 2, term: 1, data: []byte("forged")}
				s.commit = 1
				g.replicas[2].log.queued = 1
			},
			"host 3 has another entry at 2 than the one that is committed",
		}, {
			"a majority forgets a committed entry",
			func(g *Group) {
				for _, r := range g.replicas[1:] {
					r.store.truncate(2)
				}
				g.checkDurable()
			},
			"entry 2 is committed and durable on only 1 of 3 replicas",
		}, {
			"a host that forgot is elected by another",
			func(g *Group) {
				for _, r := range g.replicas[1:] {
					r.store.truncate(2)
				}
				_ = g.replicas[1].log.elect(electForced)
				g.replicas[0].host.paused = true
				_ = g.replicas[1].log.elect(electForced)
			},
			"host 2 wins term 2 without the committed entry 2",
		}, {
			"two hosts lead one term",
			func(g *Group) { g.replicas[1].log.becomeLeader(1) },
			"both lead term 1",
		}, {
			"a term goes back",
			func(g *Group) { g.replicas[1].log.setLeadership(0, 0) },
			"host 2 goes back from term 1 to 0",
		}, {
			"an entry is skipped",
			func(g *Group) { g.replicas[1].log.queued++ },
			"host 2 applies entry 4 after 2",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n, err := NewNetwork(Config{Seed: 42, Hosts: []shard.HostID{1, 2, 3}})
			if err != nil {
				t.Fatal(err)
			}
			var leader *Log
			for _, h := range n.hosts {
				l, err := n.Open(h.id, 1, discarding{})
				if err != nil {
					t.Fatal(err)
				}
				if h.id == 1 {
					leader = l
				}
			}
			propose := func() {
				if err := leader.Propose([]byte("a"), func(shard.Outcome) {}); err != nil {
					t.Fatal(err)
				}
				n.Advance(time.Second)
			}
			n.Advance(0)
			propose()

			defer func() {
				text, _ := recover().(string)
				if !strings.Contains(text, tc.want) || !strings.Contains(text, "seed 42") {
					t.Errorf("recovered %q, want %q", text, tc.want)
				}
			}()
			n.do(func() { tc.spoil(n.groups[0]) })
			propose()
			propose()
		})
	}
}
