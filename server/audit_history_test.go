package server_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/audit"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard/hosts"
)

// actsIn returns the audit entries about actions: author, action and reason.
func actsIn(r *hosts.Records) (said [][3]string) {
	for _, e := range r.Audit(1, hosts.MaxAudit) {
		if e.Event == hosts.EventAct {
			said = append(said, [3]string{e.By, e.Text, e.Why})
		}
	}
	return said
}

// TestAnActIsNotedByTheNameOfItsToken: through the meta leader and through another host. Clients without a known token
// are recorded by address.
func TestAnActIsNotedByTheNameOfItsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keepRights(t, 3)
		k.create(k.root, "ci", 0, grant("read", "/"))
		leader := k.metaLeader()
		other := leader%3 + 1
		var expected [][3]string
		for _, through := range []*server.Host{k.Host(leader), k.Host(other)} {
			for _, c := range []struct{ token, by string }{
				{"ci", "ci at 192.0.2.1:5"}, {"", "a client at 192.0.2.1:5"}, {"not known", "a client at 192.0.2.1:5"},
			} {
				what := "semaphore delete: name s" + c.token
				act := audit.Note{Token: []byte(c.token), Address: "192.0.2.1:5", What: what, Why: "a test"}
				if err := through.NoteAct(t.Context(), act); err != nil {
					t.Fatal(err)
				}
				expected = append(expected, [3]string{c.by, what, "a test"})
			}
		}
		got := actsIn(recordsOf(k.Cluster, leader))
		want(t, "entries", len(got), len(expected))
		for i := range got {
			want(t, "an entry", got[i], expected[i])
		}
		want(t, "who leads the meta shard all the time", k.metaLeader(), leader)
	})
}

// TestAnActIsNotedByATokenThatTheHostDoesNotKnowYet: another host has accepted the token.
func TestAnActIsNotedByATokenThatTheHostDoesNotKnowYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keepRights(t, 3)
		leader := k.metaLeader()
		lags := leader%3 + 1
		k.Isolate(lags)
		k.create(k.root, "ci", 0, grant("read", "/"))
		noted := make(chan error)
		act := audit.Note{Token: []byte("ci"), Address: "192.0.2.1:5", What: "session destroy: id 7", Why: "a test"}
		go func() { noted <- k.Host(lags).NoteAct(t.Context(), act) }()
		synctest.Wait()
		k.Heal()
		if err := <-noted; err != nil {
			t.Fatal(err)
		}
		want(t, "the entries", fmt.Sprint(actsIn(recordsOf(k.Cluster, k.metaLeader()))),
			fmt.Sprint([][3]string{{"ci at 192.0.2.1:5", act.What, act.Why}}))
	})
}

// TestAnActIsNotedOnceTheLeaderIsReached: a host other than the meta leader retries until its call succeeds, within a
// time limit.
func TestAnActIsNotedOnceTheLeaderIsReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var off atomic.Bool
		c, _ := operated(t, servertest.Config(func(c *server.Config) { c.Calls = muted{c.Calls, &off} }))
		act := audit.Note{Address: "192.0.2.1:5", What: "session destroy: id 7", Why: "a test"}
		off.Store(true)
		brief, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := c.Host(2).NoteAct(brief, act); err == nil || !strings.Contains(err.Error(), "no call passes") {
			t.Errorf("while no call passes: %v, want why", err)
		}
		noted := make(chan error)
		go func() { noted <- c.Host(2).NoteAct(t.Context(), act) }()
		time.Sleep(time.Minute) // bubble time, with many retries
		want(t, "entries while no call passes", len(actsIn(recordsOf(c, 1))), 0)
		off.Store(false)
		if err := <-noted; err != nil {
			t.Fatal(err)
		}
		want(t, "the entry", actsIn(recordsOf(c, 1))[0],
			[3]string{"a client at 192.0.2.1:5", "session destroy: id 7", "a test"})
	})
}

// TestChangesOfNodesAreInTheHistory: each change is recorded once, with its author. Creating an existing node is not
// recorded. In a flood of changes only the first are recorded, so that other entries are kept.
func TestChangesOfNodesAreInTheHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := servertest.Start(t, servertest.Hosts(3), servertest.Config(func(c *server.Config) {
			c.NotesNodes = true
		}))
		c, err := client.Open(t.Context(), cluster.Addresses(), client.WithDialer(cluster.Dial))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		create := func(path string) {
			t.Helper()
			if _, err := c.CreateNode(t.Context(), path, client.NodeConfig{}); err != nil {
				t.Fatal(err)
			}
		}
		create("/a")
		create("/a")
		if err := c.DropNode(t.Context(), "/a"); err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			create(fmt.Sprintf("/b%d", i))
		}
		time.Sleep(time.Second)
		said := actsIn(recordsOf(cluster, 1))
		want(t, "entries", len(said), 64)
		for i, text := range []string{"create node /a", "drop node /a", "create node /b0"} {
			want(t, "an entry", said[i][1], text)
			want(t, "who made it", strings.HasPrefix(said[i][0], "a client at "), true)
		}
	})
}
