package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/server/admin"
	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/server/join"
	"github.com/signalbox/signalbox/server/settings"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
)

// newFirst starts the first host of a growing cluster.
func newFirst(t *testing.T, change func(*settings.Settings)) *Host {
	t.Helper()
	s := joining(t, "a")
	s.Join = nil
	change(&s)
	if _, err := Init(Options{Settings: s}); err != nil {
		t.Fatal(err)
	}
	h := start(t, Options{Settings: s})
	awaitRecords(t, h, "of the first host", func(r *hosts.Records) bool { return r.Named("a") != nil })
	return h
}

// joining are the settings of a joining host.
func joining(t *testing.T, name string, to ...*Host) settings.Settings {
	t.Helper()
	s := newSettings(t)
	s.Name, s.RaftListen = name, newClusterSettings(t, name)[0].InitialHosts[0].Raft
	for _, h := range to {
		s.Join = append(s.Join, h.settings.RaftAdvertise)
	}
	return s
}

// awaitRecords waits until a host's records satisfy a condition.
func awaitRecords(t *testing.T, h *Host, what string, is func(*hosts.Records) bool) {
	t.Helper()
	for end := within(t, time.Minute); ; {
		if core := h.core.Load(); core != nil {
			if topology, ok := core.Topology(); ok && is(topology.Records) {
				return
			}
		}
		select {
		case <-end.Done():
			t.Fatalf("no records %s: %v", what, h.Ready())
		case <-h.Done():
			t.Fatalf("no records %s: %v", what, h.Err())
		case <-time.After(readyPoll):
		}
	}
}

// allVote reports whether n hosts vote in every shard, and are online.
func allVote(n int) func(*hosts.Records) bool {
	return func(r *hosts.Records) bool {
		online := 0
		for _, h := range r.Hosts() {
			if h.Online() {
				online++
			}
		}
		for _, s := range r.Shards() {
			if s.Voters() != n {
				return false
			}
		}
		return online == n
	}
}

// awaitPage waits until the governing host among some hosts shows a page that satisfies a condition.
func awaitPage(t *testing.T, what string, is func(admin.Cluster) bool, all ...*Host) {
	t.Helper()
	var page admin.Cluster
	for end := within(t, time.Minute); ; {
		for _, h := range all {
			if shown, err := h.Cluster(); err == nil && shown.Observed {
				page = shown
			}
		}
		if is(page) {
			return
		}
		select {
		case <-end.Done():
			t.Fatalf("no page %s: %+v", what, page)
		case <-time.After(readyPoll):
		}
	}
}

func TestAClusterGrowsFromOneHostToThree(t *testing.T) {
	t.Parallel() // mostly waiting
	a := newFirst(t, func(*settings.Settings) {})
	first := joining(t, "b", a)
	first.FailureDomain = "rack=1,dc=x"
	b := startSome(t, first)[0]
	other := joining(t, "c", a)
	other.FailureDomain = "dc=y,rack=1"
	c := startSome(t, other)[0]
	awaitReady(t, a, b, c)
	awaitRecords(t, a, "of three voters", allVote(3))
	if got := b.Identity(); got.Cluster != a.Identity().Cluster || !got.Joined() || got.HostID == c.Identity().HostID {
		t.Errorf("b is %+v", got)
	}
	awaitRecords(t, a, "with the failure domain of b", func(r *hosts.Records) bool {
		return r.Named("b").Domain.String() == "dc=x,rack=1"
	})
	awaitPage(t, "of a cluster that can lose a host", func(p admin.Cluster) bool {
		return p.Observed && p.Tolerated != nil && *p.Tolerated == 1 && len(p.Hosts) == 3 && len(p.Shards) == 2 &&
			p.Shards[1].Voters == 3 && p.Shards[1].Live == 3 && p.Hosts[2].Alive &&
			p.Hosts[1].Current.State == host.Online
	}, a, b, c)
	// Restarted with the same settings, it does not join again. It is reachable at its advertised address.
	id := b.Identity().HostID
	b.Close()
	first.RaftListen = joining(t, "b").RaftListen
	b = startSome(t, first)[0]
	awaitReady(t, b)
	if got := b.Identity(); got.HostID != id || got.Starts != 2 {
		t.Errorf("b became %+v", got)
	}
	awaitRecords(t, a, "with the address of b", func(r *hosts.Records) bool {
		return r.Host(id).Addresses.Raft == first.RaftListen
	})
}

func TestAHostThatIsRefusedEnds(t *testing.T) {
	t.Parallel() // mostly waiting
	a := newFirst(t, func(*settings.Settings) {})
	s := joining(t, "a", a)
	err := awaitFailure(t, startSome(t, s)[0])
	if _, ok := errors.AsType[*join.Refused](err); !ok || KindOf(err) != KindData ||
		!strings.Contains(err.Error(), "--replace a if the existing host is permanently lost") {
		t.Errorf("got %v", err)
	}
}

func TestAHostWaitsUntilItIsLetIn(t *testing.T) {
	t.Parallel() // mostly waiting
	s := joining(t, "b")
	s.Join = []string{joining(t, "a").RaftListen, s.RaftListen}
	b := startSome(t, s)[0]
	for end := within(t, time.Minute); !strings.Contains(b.Ready().Error(), "waiting to join: "); {
		if end.Err() != nil {
			t.Fatal(b.Ready())
		}
	}
	newFirst(t, func(first *settings.Settings) { first.RaftListen = s.Join[0] })
	awaitReady(t, b)
}

// TestAHostThatJoinsWhereClientsConnectHearsOfIt: the two ports are easily confused.
func TestAHostThatJoinsWhereClientsConnectHearsOfIt(t *testing.T) {
	t.Parallel() // mostly waiting
	a := newFirst(t, func(*settings.Settings) {})
	s := joining(t, "b")
	s.Join = []string{a.Addresses().ClientAdvertise}
	b := startSome(t, s)[0]
	const hint = " is for clients; join at port 7421"
	for end := within(t, time.Minute); !strings.Contains(b.Ready().Error(), hint); {
		if end.Err() != nil {
			t.Fatal(b.Ready())
		}
		time.Sleep(readyPoll)
	}
}

func TestAHostJoinsByATokenAndKeepsTheSecret(t *testing.T) {
	t.Parallel() // mostly waiting
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("a secret that is long enough\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := newFirst(t, func(s *settings.Settings) { s.RaftSecretFile = secret })
	token := join.NewToken(join.Authority{})
	create := &meta.TokenCreate{ID: token.ID, Hash: token.Hash(), Millis: 60_000}
	if e, err := a.core.Load().Do(t.Context(), create, "a test", ""); err != nil ||
		e.Status != protocol.StatusSuccess {
		t.Fatal(e.Message, err)
	}
	s := joining(t, "b", a)
	s.JoinTokenFile = filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(s.JoinTokenFile, []byte(token.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := startSome(t, s)[0]
	awaitReady(t, b)
	b.Close()
	if kept, err := os.ReadFile(filepath.Join(s.DataDir, identity.SecretName)); err != nil ||
		string(kept) != "a secret that is long enough\n" {
		t.Errorf("it has kept %q, %v", kept, err)
	}
	s.JoinTokenFile, s.Join = "", nil
	b = startSome(t, s)[0]
	awaitReady(t, b)
	b.Close()

	// A learner restarted without the secret reports that.
	if err := os.Remove(filepath.Join(s.DataDir, identity.SecretName)); err != nil {
		t.Fatal(err)
	}
	without := s
	without.RaftSecretFile = ""
	b = startSome(t, without)[0]
	const hint = "but this host has none, so the hosts cannot communicate; start this host with the --raft-secret-file"
	for end := within(t, time.Minute); b.Ready() == nil || !strings.Contains(b.Ready().Error(), hint); {
		select {
		case <-end.Done():
			t.Fatalf("without the secret: %v", b.Ready())
		case <-time.After(readyPoll):
		}
	}

	other := joining(t, "c", a)
	other.JoinToken = token.String()
	if err := awaitFailure(t, startSome(t, other)[0]); !strings.Contains(err.Error(), "the join token is unknown") {
		t.Errorf("used again: %v", err)
	}
}

func TestAWipedHostTakesItsOwnPlace(t *testing.T) {
	t.Parallel() // mostly waiting
	a := newFirst(t, func(*settings.Settings) {})
	s, other := joining(t, "b", a), joining(t, "c", a)
	other.Replace = "c" // a host that does not exist yet
	b, c := startSome(t, s)[0], startSome(t, other)[0]
	awaitReady(t, a, b, c)
	awaitRecords(t, a, "of three voters", allVote(3))
	was := b.Identity().HostID
	b.Close()
	if err := os.RemoveAll(s.DataDir); err != nil {
		t.Fatal(err)
	}
	wiped := startSome(t, s)[0]
	if err := awaitFailure(t, wiped); !strings.Contains(err.Error(), "--replace b") {
		t.Fatalf("wiped, it joins: %v", err)
	}
	wiped.Close()
	s.Replace = "b"
	again := startSome(t, s)[0]
	awaitReady(t, again)
	awaitRecords(t, a, "of three voters again", func(r *hosts.Records) bool {
		return allVote(3)(r) && !r.Host(was).Living() && !r.Holds(was)
	})
	if now := again.Identity().HostID; now == was {
		t.Errorf("it is host %d again", now)
	}
}
