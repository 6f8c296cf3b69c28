package server_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// scopes are tokens with paths that a test changes: each token has full rights under its path, and none elsewhere.
type scopes struct {
	mu    sync.Mutex
	paths map[string]string
	count uint64
}

type scope struct {
	of    *scopes
	token string
}

func (sc *scopes) Authenticate(token []byte) (caller.Rights, string, bool) {
	return scope{sc, string(token)}, string(token), true
}

func (sc *scopes) narrow(token, path string) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	sc.paths[token] = path
	sc.count++
}

func (s scope) Allows(path, _ string, _ protocol.Right) bool {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	return path == "" || strings.HasPrefix(path, s.of.paths[s.token])
}
func (s scope) Valid() bool { return true }
func (s scope) Version() uint64 {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	return s.of.count
}

// enter connects with a token.
func enter(t *testing.T, c *servertest.Cluster, token string) *speaker {
	t.Helper()
	s := unauthenticated(t, c)
	s.must(s.ask(&protocol.Hello{VersionMin: 1, VersionMax: 1, Token: []byte(token)}))
	return s
}

func newScopes(t *testing.T, paths map[string]string) (*scopes, *servertest.Cluster) {
	t.Helper()
	x := &scopes{paths: paths}
	return x, servertest.Start(t, servertest.Config(func(c *server.Config) { c.Access = x }))
}

func TestWhatIsOpenEndsWithTheRightToIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		access, c := newScopes(t, map[string]string{"admin": "/", "app": "/jobs"})
		admin, app, bound := enter(t, c, "admin"), enter(t, c, "app"), enter(t, c, "app")
		node, kept := admin.node("/jobs/secret"), admin.node("/jobs/open")
		a, b := app.session("/jobs/secret", 10*time.Second), app.session("/jobs/open", 10*time.Second)
		admin.must(admin.ask(&protocol.SemaphoreCreate{NodeID: node, Name: []byte("sem"), Limit: 5}))
		a.acquire("sem", 1, 0, false)
		app.must(app.ask(&protocol.SemaphoreDescribe{SessionID: a.id, NodeID: node, Name: []byte("sem"),
			WatchData: true, WatchOwners: true}))
		bound.must(bound.ask(&protocol.SessionBind{SessionID: a.id, SessionSecret: []byte("key")}))
		watch := &protocol.Watch{NodeID: node, Name: []byte("sem"), Owners: true, Data: true}
		lost := app.say(watch)
		app.must(app.await(lost, protocol.KindWatch.Answer()))
		stays := app.say(&protocol.Watch{NodeID: kept, Name: []byte("sem"), Owners: true})
		app.must(app.await(stays, protocol.KindWatch.Answer()))

		access.narrow("app", "/jobs/open")
		want(t, "the watch", app.await(lost, protocol.KindWatchEnd).WatchEnd.Result.Status, protocol.StatusUnauthorized)
		for _, s := range []*speaker{app, bound} {
			gone := s.await(0, protocol.KindSessionDetached).SessionDetached
			want(t, "the session", gone.SessionID, a.id)
			want(t, "why", gone.Result.Status, protocol.StatusUnauthorized)
		}
		app.kept = nil // what came before
		// No further pushes arrive from the forbidden path, and permitted requests continue.
		operator := admin.session("/jobs/secret", 10*time.Second)
		operator.acquire("sem", 1, 0, false)
		admin.must(admin.ask(&protocol.SemaphoreDelete{NodeID: node, Name: []byte("sem"), Force: true}))
		b.acquire("sem", 1, 0, true)
		synctest.Wait()
		app.must(app.ask(&protocol.Ping{}))
		for _, k := range app.kept {
			if m := app.decode(k.payload); m.ID == lost || m.Kind == protocol.KindHoldingLost ||
				m.Kind == protocol.KindWatchChanged {
				t.Errorf("it was sent %v of %d", m.Kind, m.ID)
			}
		}
		if !app.has(stays, protocol.KindWatchDelta) && !app.has(stays, protocol.KindWatchSnapshot) {
			t.Error("the watch that is allowed says nothing")
		}
		want(t, "open watches", metric(t, c, `signalbox_shard_watches{shard="1"}`), 1)
		want(t, "one-shot watches", metric(t, c, `signalbox_shard_one_shot_watches{shard="1"}`), 0)
	})
}

// TestASessionThatEndsWhileItIsBoundIsNotBound: a session that ends between the two steps of a BIND must not stay
// bound.
func TestASessionThatEndsWhileItIsBoundIsNotBound(t *testing.T) {
	c := servertest.Start(t)
	owner, other := speak(t, c, 1), speak(t, c, 1)
	owner.node("/jobs")
	a := owner.session("/jobs", time.Minute)
	c.Host(1).AfterBind(func() { c.Host(1).EndApplied(shard.SessionID(a.id)) })
	bind := other.ask(&protocol.SessionBind{SessionID: a.id, SessionSecret: []byte("key")})
	want(t, "the bind", bind.Result.Status, protocol.StatusSessionExpired)
	mutation := &protocol.Release{Mutation: a.mutation(), NodeID: a.node, Name: []byte("sem")}
	want(t, "a mutation", other.ask(mutation).Result.Status, protocol.StatusSessionExpired)
}

// TestALimitedTokenDoesNotLearnWhatExists: objects invisible to a token are answered as missing.
func TestALimitedTokenDoesNotLearnWhatExists(t *testing.T) {
	access, c := newScopes(t, map[string]string{"admin": "/", "app": "/jobs"})
	_ = access
	admin, app := enter(t, c, "admin"), enter(t, c, "app")
	jobs := app.node("/jobs")
	node := admin.node("/hidden")
	hidden := admin.session("/hidden", time.Minute)
	hidden.acquire("sem", 1, 0, true)
	const nowhere = 1 << 40
	absent := hidden.id + 1<<20 // in the same slot's shard, without a session
	for name, ask := range map[string]func(node, session uint64) protocol.RequestMessage{
		"describe a node": func(n, _ uint64) protocol.RequestMessage { return &protocol.NodeDescribe{NodeID: n} },
		"drop a node":     func(n, _ uint64) protocol.RequestMessage { return &protocol.NodeDrop{NodeID: n} },
		"describe a semaphore": func(n, _ uint64) protocol.RequestMessage {
			return &protocol.SemaphoreDescribe{NodeID: n, Name: []byte("sem")}
		},
		"watch": func(n, _ uint64) protocol.RequestMessage { return &protocol.Watch{NodeID: n, Name: []byte("sem")} },
		"delete": func(n, _ uint64) protocol.RequestMessage {
			return &protocol.SemaphoreDelete{NodeID: n, Name: []byte("sem")}
		},
		"list": func(n, _ uint64) protocol.RequestMessage { return &protocol.SemaphoreList{NodeID: n, ShardID: 1} },
		"attach": func(_, s uint64) protocol.RequestMessage {
			return &protocol.SessionAttach{SessionID: s, SessionSecret: []byte("key")}
		},
		"attach, wrong key": func(_, s uint64) protocol.RequestMessage {
			return &protocol.SessionAttach{SessionID: s, SessionSecret: []byte("no")}
		},
		"bind": func(_, s uint64) protocol.RequestMessage {
			return &protocol.SessionBind{SessionID: s, SessionSecret: []byte("key")}
		},
		"bind, wrong key": func(_, s uint64) protocol.RequestMessage {
			return &protocol.SessionBind{SessionID: s, SessionSecret: []byte("no")}
		},
		"stop": func(_, s uint64) protocol.RequestMessage { return &protocol.SessionStop{SessionID: s} },
		"mutate": func(_, s uint64) protocol.RequestMessage {
			return &protocol.Release{Mutation: protocol.Mutation{SessionID: s, Sequence: 1}, NodeID: jobs,
				Name: []byte("sem")}
		},
		"leave a watch": func(_, s uint64) protocol.RequestMessage {
			return &protocol.SemaphoreDescribe{NodeID: jobs, Name: []byte("sem"), SessionID: s, WatchData: true}
		},
		"describe a session": func(_,
			s uint64) protocol.RequestMessage {
			return &protocol.SessionDescribe{SessionID: s}
		},
		"destroy": func(_,
			s uint64) protocol.RequestMessage {
			return &protocol.SessionDestroy{SessionID: s}
		},
		"holdings": func(_, s uint64) protocol.RequestMessage {
			return &protocol.SessionHoldings{SessionID: s,
				ShardID: 1}
		},
	} {
		there := app.ask(ask(node, hidden.id)).Result
		there.Message = strings.Clone(there.Message) // the next answer reuses the memory
		missing := app.ask(ask(nowhere, absent)).Result
		if there.Status != missing.Status || there.Message != missing.Message {
			t.Errorf("%s: what is there %v %q, what is not %v %q", name, there.Status, there.Message, missing.Status,
				missing.Message)
		}
	}
	if got := app.must(app.ask(&protocol.SessionHoldings{SessionID: hidden.id,
		ShardID: 1})).SessionHoldings.Holdings; got.Len() != 0 {
		t.Errorf("it was shown %d holdings", got.Len())
	}
}

func TestWrongSessionKeysAreThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t)
		owner, guesser := speak(t, c, 1), speak(t, c, 1)
		owner.node("/jobs")
		a := owner.session("/jobs", time.Minute)
		guess := func(key string) protocol.Result {
			return guesser.ask(&protocol.SessionBind{SessionID: a.id, SessionSecret: []byte(key)}).Result
		}
		for range 4 {
			want(t, "a guess", guess("wrong").Status, protocol.StatusBadSession)
			attach := &protocol.SessionAttach{SessionID: a.id, SessionSecret: []byte("wrong"), AttachSequence: 9}
			want(t, "a guess", guesser.ask(attach).Result.Status, protocol.StatusBadSession)
		}
		refused := guess("key") // correct, but never compared
		want(t, "one more", refused.Status, protocol.StatusOverloaded)
		if refused.WaitMillis == 0 || refused.WaitMillis > 2000 {
			t.Errorf("it is to wait for %d ms", refused.WaitMillis)
		}
		want(t, "another connection", owner.ask(&protocol.SessionAttach{SessionID: a.id, SessionSecret: []byte("key"),
			AttachSequence: 1}).Result.Status, protocol.StatusSuccess)
		time.Sleep(time.Duration(refused.WaitMillis) * time.Millisecond)
		want(t, "after the wait", guess("key").Status, protocol.StatusSuccess)
	})
}
