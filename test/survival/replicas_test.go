//go:build linux

package survival_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/host"
)

// voters returns each data shard's voting hosts, by the records.
func (s *spread) voters() map[uint64][]string {
	c, err := s.operator.Describe(s.t.Context())
	if err != nil {
		return nil
	}
	list := make(map[uint64][]string)
	for _, on := range c.Shards {
		for _, r := range on.Replicas {
			if on.ID != 0 && r.Role == kind.Voter {
				list[on.ID] = append(list[on.ID], c.Host(r.Host).Name)
			}
		}
	}
	return list
}

// extremes are a data shard's minimum and maximum voter count since the last reset.
type extremes struct {
	mu           sync.Mutex // guards what follows
	fewest, most int
}

func (e *extremes) note(voters map[uint64][]string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, list := range voters {
		if e.fewest == 0 || len(list) < e.fewest {
			e.fewest = len(list)
		}
		e.most = max(e.most, len(list))
	}
}

func (e *extremes) forget() (fewest, most int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	fewest, most = e.fewest, e.most
	e.fewest, e.most = 0, 0
	return fewest, most
}

// TestReplicasAreChangedUnderLoad: the replica count changes from three to five, to one, and to three. No shard ever
// has fewer voters than the smaller policy, and no step is requested twice. With one replica, a host is drained: each
// shard on the host temporarily has two voters, and no client is refused or loses a session.
func TestReplicasAreChangedUnderLoad(t *testing.T) {
	t.Parallel()
	s := newSpread(t, t.TempDir(), []string{"a", "b", "c", "d", "e"}, func(*admin.Policy) {}, "--shards", "4")
	newNode(t, s.hosts, "/replicas", protocol.NodeConfig{SelfCheckPeriodMillis: 500, SessionGracePeriodMillis: 3000})
	s.awaitVoters(3)
	l := newLoadAt(t, s.addresses(), "/replicas", sessions, 8, 2)
	seen := new(extremes)
	ended := make(chan struct{})
	var looking sync.WaitGroup
	looking.Go(func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(20 * time.Millisecond):
				seen.note(s.voters())
			}
		}
	})
	defer looking.Wait()
	defer close(ended)

	o := newOperator(t, s.places)
	if output, err := o.run("cluster", "policy", "set", "--replicas", "1"); err == nil || !strings.Contains(output,
		"--yes") {
		t.Errorf("one replica is not asked for twice: %v: %s", err, output)
	}
	before := 3
	for _, to := range []int{5, 1, 3, 1} {
		began := time.Now()
		seen.forget()
		o.ok("cluster", "policy", "set", "--replicas", fmt.Sprint(to), "--yes")
		s.awaitVoters(to)
		l.progress(10)
		fewest, most := seen.forget()
		t.Logf("from %d to %d replicas within %v: %d to %d voters; %v", before, to,
			time.Since(began).Round(time.Second), fewest, most, l.record.longestPause(began))
		if fewest < min(before, to) {
			t.Errorf("a shard had %d voters on the way from %d to %d", fewest, before, to)
		}
		before = to
	}

	drained := ""
	for _, list := range s.voters() {
		if list[0] != "a" {
			drained = list[0]
		}
	}
	began := time.Now()
	o.ok("host", "drain", drained)
	s.hosts[0].await("the host has nothing", func() bool {
		voters := s.voters()
		return len(voters) == 4 && !slices.ContainsFunc(slices.Collect(maps.Values(voters)), func(list []string) bool {
			return len(list) != 1 || list[0] == drained
		})
	})
	l.progress(10)
	fewest, most := seen.forget()
	t.Logf("%s is drained within %v: %d to %d voters; %v", drained, time.Since(began).Round(time.Second), fewest, most,
		l.record.longestPause(began))
	if fewest != 1 || most != 2 {
		t.Errorf("shards had %d to %d voters meanwhile", fewest, most)
	}
	l.check()
	l.record.checkNoSessionEnded()
}

// awaitVoters waits until each data shard has n voters.
func (s *spread) awaitVoters(n int) {
	s.t.Helper()
	s.hosts[0].await("each shard has its voters", func() bool {
		voters := s.voters()
		for _, list := range voters {
			if len(list) != n {
				return false
			}
		}
		return len(voters) > 0
	})
}
