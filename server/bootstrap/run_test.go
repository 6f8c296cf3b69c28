package bootstrap

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/server/peerrpc"
	"github.com/signalbox/signalbox/shard/hosts"
)

// network has runners at addresses. Each call takes some time.
type network struct {
	mu      sync.Mutex
	runners map[string]*Runner // by address; guarded by mu
}

func (n *network) call(ctx context.Context, address string, request func(peerrpc.Transcript) ([]byte, error)) ([]byte,
	error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(10 * time.Millisecond):
	}
	n.mu.Lock()
	r := n.runners[address]
	n.mu.Unlock()
	if r == nil {
		return nil, fmt.Errorf("call %s: %w", address, errors.New("connection refused"))
	}
	var t peerrpc.Transcript
	_, _ = rand.Read(t[:]) // never fails
	made, err := request(t)
	if err != nil {
		return nil, err
	}
	return r.Answer(t, made)
}

// run adds a host to the network, and returns its result.
func (n *network) run(ctx context.Context, c *Initializer, secret string) (*Runner, <-chan error) {
	r := NewRunner(c, []byte(secret), n.call)
	n.mu.Lock()
	n.runners[c.name+":7421"] = r
	n.mu.Unlock()
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return r, done
}

// memory is a record without a disk.
type memory struct{ id identity.Identity }

func newMemory(name string, incarnation byte) *memory {
	return &memory{identity.Identity{HostName: name, Incarnation: hosts.Incarnation{incarnation}}}
}

func (m *memory) Identity() identity.Identity        { return m.id }
func (m *memory) Promise(to hosts.Incarnation) error { m.id.Promise = to; return nil }
func (m *memory) Redraw() error {
	m.id.Incarnation[1]++
	m.id.Promise = hosts.Incarnation{}
	return nil
}
func (m *memory) Bootstrap(b identity.Bootstrap) error {
	m.id.HostID, m.id.Bootstrap = b.InitialMember(m.id.HostName).ID, b
	return nil
}

func TestThreeHostsFindEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{runners: make(map[string]*Runner)}
		plan := planOf("a", "b", "c")
		a, b, c := newMemory("a", 1), newMemory("b", 2), newMemory("c", 3)
		first, ofA := n.run(t.Context(), NewInitializer(plan, "a", a), "a secret of theirs")
		_, ofB := n.run(t.Context(), NewInitializer(plan, "b", b), "a secret of theirs")
		time.Sleep(time.Minute)
		if got := first.Awaited(); got != "waiting for c at c:7421 (connection refused): a cluster bootstraps "+
			"when all initial hosts have answered" {
			t.Errorf("it says: %s", got)
		}
		began := time.Now()
		_, ofC := n.run(t.Context(), NewInitializer(plan, "c", c), "a secret of theirs")
		for _, done := range []<-chan error{ofA, ofB, ofC} {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v", took)
		}
		if a.id.Cluster == "" || a.id.Cluster != b.id.Cluster || a.id.Cluster != c.id.Cluster {
			t.Errorf("clusters %q, %q, %q", a.id.Cluster, b.id.Cluster, c.id.Cluster)
		}
	})
}

func TestAHostWithAnotherSecretSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		n := &network{runners: make(map[string]*Runner)}
		plan := planOf("a", "b")
		a, done := n.run(ctx, NewInitializer(plan, "a", newMemory("a", 1)), "a secret of theirs")
		_, other := n.run(ctx, NewInitializer(plan, "b", newMemory("b", 2)), "some other secret")
		time.Sleep(time.Minute)
		if got := a.Awaited(); !strings.Contains(got, "b at b:7421 ("+ErrSecret.Error()) {
			t.Errorf("it says: %s", got)
		}
		cancel()
		for _, done := range []<-chan error{done, other} {
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("it ended with %v", err)
			}
		}
	})
}

// TestAnotherHostAtAnAddressIsNotTakenForTheHost: the answering host has a different name.
func TestAnotherHostAtAnAddressIsNotTakenForTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		n := &network{runners: make(map[string]*Runner)}
		member := newMemory("z", 9)
		member.id.HostID, member.id.Bootstrap = 1, identity.NewBootstrap("", 1,
			[]identity.InitialMember{{ID: 1, Name: "z", Incarnation: member.id.Incarnation}})
		_, z := n.run(ctx, NewInitializer(planOf("z"), "z", member), "")
		n.mu.Lock()
		n.runners["b:7421"] = n.runners["z:7421"]
		n.mu.Unlock()
		a, done := n.run(ctx, NewInitializer(planOf("a", "b"), "a", newMemory("a", 1)), "")
		time.Sleep(time.Minute)
		if got := a.Awaited(); got != `host b refuses this host: at b:7421 is host "z"` {
			t.Errorf("it says: %s", got)
		}
		cancel()
		<-done
		<-z
	})
}

func TestAMessageIsOfThoseWhoHaveTheSecret(t *testing.T) {
	secret, other := []byte("a secret of theirs"), []byte("some other secret")
	ask := Ask{Name: "a", Incarnation: hosts.Incarnation{1}, Plan: planOf("a", "b")}
	for _, c := range []struct {
		from, to []byte
		good     bool
	}{{secret, secret, true}, {nil, nil, true}, {secret, nil, false}, {nil, secret, false}, {secret, other, false}} {
		request, err := channel{secret: c.from}.encode(askLabel, ask)
		if err != nil || !IsAsk(request) {
			t.Fatalf("%s, %v", request, err)
		}
		var got Ask
		if err := (channel{secret: c.to}).decode(askLabel, request, &got); (err == nil) != c.good ||
			c.good && got.Name != "a" {
			t.Errorf("%s: %+v, %v", request, got, err)
		}
		id := identity.Identity{HostName: "b", Incarnation: hosts.Incarnation{2}}
		if _, err := AnswerAsMember(peerrpc.Transcript{}, c.to, &id, request); (err == nil) != c.good {
			t.Errorf("%s: a member answers with %v", request, err)
		}
	}
	c := channel{peerrpc.Transcript{1}, secret}
	request, _ := c.encode(askLabel, ask)
	changed := bytes.Replace(request, []byte(`"name":"a"`), []byte(`"name":"b"`), 1)
	if err := c.decode(askLabel, changed, new(Ask)); !errors.Is(err, ErrSecret) {
		t.Errorf("a changed ask: %v", err)
	}
	answer, err := c.encode(answerLabel, Answer{Name: "b"})
	if err != nil {
		t.Fatal(err)
	}
	var got Answer
	if err := c.decode(answerLabel, answer, &got); err != nil || got.Name != "b" {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := (channel{peerrpc.Transcript{2}, secret}).decode(answerLabel, answer, &got); !errors.Is(err, ErrSecret) {
		t.Errorf("the answer on another connection: %v", err)
	}
	if err := c.decode(askLabel, answer, new(Ask)); !errors.Is(err, ErrSecret) {
		t.Errorf("an answer taken for an ask: %v", err)
	}
}

func FuzzMessages(f *testing.F) {
	request, _ := channel{}.encode(askLabel, Ask{Name: "c", Incarnation: hosts.Incarnation{1}, Plan: planOf("a", "b",
		"c")})
	f.Add(request)
	answer, _ := channel{}.encode(answerLabel, Answer{Name: "a", Bootstrap: new(identity.Bootstrap)})
	f.Add(answer)
	f.Add([]byte(`{"bootstrap":{"plan":{"hosts":null}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := NewRunner(NewInitializer(planOf("a", "b"), "b", newMemory("b", 2)), nil, nil)
		_, _ = r.Answer(peerrpc.Transcript{}, text) // whatever the result, the host continues
		var got Answer
		if (channel{}).decode(answerLabel, text, &got) != nil {
			return
		}
		c := NewInitializer(planOf("a", "b"), "b", newMemory("b", 2))
		if bootstrapped, _ := c.Conclude(map[string]Answer{"a": got}); bootstrapped {
			t.Errorf("%q makes a cluster of a host that has promised nothing", text)
		}
	})
}
