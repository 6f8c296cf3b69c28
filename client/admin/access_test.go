package admin_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/protocol/access"
	"github.com/signalbox/signalbox/test/clienttest"
)

var ann = admin.ChangeInfo{Author: "ann", Reason: "a test"}

// gated is a cluster in memory with rights: the token root has all rights, anonymous clients have none.
type gated struct {
	*clienttest.Stage
	root *admin.Admin
}

func playGated(t *testing.T, hosts int, play func(t *testing.T, g *gated)) {
	t.Helper()
	clienttest.Play(t, hosts, func(t *testing.T, st *clienttest.Stage) {
		g := &gated{Stage: st}
		open := admin.New(st.Client)
		await(t, "a cluster that keeps rights", func() bool {
			root := []admin.Grant{{Role: "root", Path: "/"}}
			_, err := open.CreateToken(t.Context(), "root", "root", time.Time{}, root, ann)
			return err == nil
		})
		g.root = admin.New(g.open(token("root")))
		play(t, g)
	})
}

// alias is another name of the first host. Clients learn this only from the host's answer.
const alias = "alias:7421"

func token(t string) client.Option { return client.WithToken(t) }

// open opens a client.
func (g *gated) open(options ...client.Option) *client.Client {
	g.T.Helper()
	hosts := g.Server.Addresses()
	first, _, _ := strings.Cut(hosts, ",")
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		if address == alias {
			address = first
		}
		return g.Server.Dial(ctx, address)
	}
	c, err := client.Open(g.T.Context(), hosts+","+alias, append(options, client.WithDialer(dial))...)
	clienttest.Check(g.T, err)
	g.T.Cleanup(func() { _ = c.Close() })
	return c
}

// await waits, in a bubble of time, until a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

func changed(t *testing.T, want bool) func(bool, error) {
	t.Helper()
	return func(changed bool, err error) {
		t.Helper()
		if err != nil || changed != want {
			t.Errorf("changed %v, %v; want %v", changed, err, want)
		}
	}
}

// TestRightsAreChangedAndShown: the SDK's requests about rights, from the first token to the last refusal.
func TestRightsAreChangedAndShown(t *testing.T) {
	playGated(t, 3, func(t *testing.T, g *gated) {
		ctx, on := t.Context(), g.root
		night := admin.Grant{Role: "night", Path: "/test", Object: "nightly-"}
		role := admin.AccessRole{Name: "night", Rules: []admin.Rule{{Path: "/", Rights: access.Read | access.Acquire}}}
		changed(t, true)(on.SetRole(ctx, role, ann))
		changed(t, false)(on.SetRole(ctx, role, ann))
		expires := time.Now().Add(time.Hour).Truncate(time.Millisecond)
		changed(t, true)(on.CreateToken(ctx, "ci", "secret", expires, []admin.Grant{night}, ann))
		changed(t, true)(on.Grant(ctx, "cn:box", admin.Grant{Role: "read", Path: "/"}, ann))
		changed(t, false)(on.Grant(ctx, "cn:box", admin.Grant{Role: "read", Path: "/"}, ann))

		roles, err := on.Roles(ctx)
		clienttest.Check(t, err)
		if len(roles) != 1 || roles[0].Name != "night" ||
			roles[0].Rules[0].Rights != role.Rules[0].Rights {
			t.Errorf("roles: %+v", roles)
		}
		list, open, err := on.Principals(ctx)
		clienttest.Check(t, err)
		var names []string
		for _, p := range list {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, " "); open || got != "token:ci token:root cn:box" {
			t.Errorf("principals: %s, open %v", got, open)
		}
		if ci := list[0]; !ci.Expires.Equal(expires) || !slices.Equal(ci.Grants, []admin.Grant{night}) ||
			!strings.HasPrefix(ci.By, "ann") || ci.Created.IsZero() {
			t.Errorf("the token: %+v", ci)
		}
		who, more, err := on.WhoCan(ctx, "acquire", "/test/jobs", "nightly-1")
		clienttest.Check(t, err)
		if len(who) != 2 || more || who[0].Principal != "token:ci" || who[0].Grant != night ||
			who[0].Rule.Object != "nightly-" || who[1].Principal != "token:root" {
			t.Errorf("who can: %+v, more %v", who, more)
		}
		if d, err := on.Can(ctx, "token:ci", "acquire", "/test/jobs", "daily"); err != nil || d != nil {
			t.Errorf("can: %+v, %v", d, err)
		}

		ci := g.open(token("secret"))
		_, err = ci.Node(clienttest.Path).Describe(ctx, "daily")
		if !errors.Is(err, client.ErrUnauthorized) {
			t.Errorf("a refusal: %v", err)
		}
		denials, silent, err := on.Denials(ctx, 10)
		clienttest.Check(t, err)
		at := slices.IndexFunc(denials, func(d admin.Denial) bool { return d.Object == "daily" })
		if at < 0 || denials[at].Who != "token:ci" || denials[at].Path != clienttest.Path || len(silent) > 0 ||
			denials[at].Rights != access.Read {
			t.Errorf("denials: %+v, silent %v", denials, silent)
		}
		if slices.ContainsFunc(denials[at+1:], func(d admin.Denial) bool { return d == denials[at] }) {
			t.Errorf("a refusal is listed twice: %+v", denials)
		}

		changed(t, true)(on.Revoke(ctx, "token:ci", &night, ann))
		changed(t, true)(on.Revoke(ctx, "cn:box", nil, ann))
		changed(t, true)(on.DeleteRole(ctx, "night", ann))
		changed(t, true)(on.RevokeToken(ctx, "ci", ann))
		changed(t, false)(on.RevokeToken(ctx, "ci", ann))
		if _, err := on.RevokeToken(ctx, "root", ann); !errors.Is(err, client.ErrPreconditionFailed) {
			t.Errorf("its own token is revoked: %v", err)
		}
	})
}

// TestATokenThatExpiredIn1970IsExpired: an expiry in 1970 does not mean "never".
func TestATokenThatExpiredIn1970IsExpired(t *testing.T) {
	playGated(t, 1, func(t *testing.T, g *gated) {
		for name, expires := range map[string]time.Time{"at": time.UnixMilli(0), "before": time.UnixMilli(-1)} {
			changed(t, true)(g.root.CreateToken(t.Context(), name, name, expires, nil, ann))
			_, err := client.Open(t.Context(), g.Server.Addresses(), client.WithDialer(g.Server.Dial), token(name))
			if !errors.Is(err, client.ErrUnauthorized) {
				t.Errorf("%s the start of 1970: %v", name, err)
			}
		}
	})
}

// expiryHooks keep the reports about tokens near their expiry.
type expiryHooks struct {
	client.NoHooks
	mu   sync.Mutex
	seen []client.TokenExpiry
}

func (h *expiryHooks) TokenExpiring(e client.TokenExpiry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen = append(h.seen, e)
}

// TestAClientIsWarnedBeforeItsTokenExpires: with a next token available, the client continues with the next token.
func TestAClientIsWarnedBeforeItsTokenExpires(t *testing.T) {
	playGated(t, 1, func(t *testing.T, g *gated) {
		ctx, began := t.Context(), time.Now()
		write := []admin.Grant{{Role: "write", Path: "/"}}
		changed(t, true)(g.root.CreateToken(ctx, "old", "old", began.Add(10*time.Minute), write, ann))
		changed(t, true)(g.root.CreateToken(ctx, "new", "new", time.Time{}, write, ann))
		var secret atomic.Value
		secret.Store("old")
		var hooks expiryHooks
		var log bytes.Buffer
		c := g.open(client.WithHooks(&hooks), client.WithLogger(slog.New(slog.NewTextHandler(&log, nil))),
			client.WithTokenSource(func(context.Context) (string, error) { return secret.Load().(string), nil }))
		s := clienttest.Session(t, c)
		id := s.ID()
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		hooks.mu.Lock()
		seen := slices.Clone(hooks.seen)
		hooks.mu.Unlock()
		if len(seen) != 1 || seen[0].Token != "old" || seen[0].HostID != 1 || seen[0].Left > 5*time.Minute ||
			seen[0].Left < 4*time.Minute {
			t.Errorf("the warnings: %+v", seen)
		}
		if !strings.Contains(log.String(), "the token expires soon") {
			t.Errorf("the log: %s", log.String())
		}
		secret.Store("new")
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		if s.State() != client.Attached || s.ID() != id {
			t.Errorf("the session is %v, %d", s.State(), s.ID())
		}
		if _, err := client.Open(ctx, g.Server.Addresses(), client.WithDialer(g.Server.Dial), token("old")); !errors.Is(
			err, client.ErrUnauthorized) {
			t.Errorf("the old token: %v", err)
		}
	})
}

// TestAnAcquireThatWaitsEndsWithItsRight: the session can still release its semaphores.
func TestAnAcquireThatWaitsEndsWithItsRight(t *testing.T) {
	playGated(t, 1, func(t *testing.T, g *gated) {
		ctx := t.Context()
		lost, kept := admin.Grant{Role: "write", Path: "/test", Object: "lost-"}, admin.Grant{Role: "write",
			Path: "/test", Object: "kept-"}
		changed(t, true)(g.root.CreateToken(ctx, "ci", "ci", time.Time{}, []admin.Grant{lost, kept}, ann))
		mine := clienttest.Session(t, g.open(token("ci")))
		top := g.open(token("root"))
		_, err := clienttest.Session(t, top).Semaphore("lost-1", client.Limit(1)).Acquire(ctx)
		clienttest.Check(t, err)
		has, err := mine.Semaphore("lost-2", client.Limit(1)).Acquire(ctx)
		clienttest.Check(t, err)
		waits := make(chan error, 1)
		go func() {
			_, err := mine.Semaphore("lost-1").Acquire(ctx)
			waits <- err
		}()
		synctest.Wait()
		changed(t, true)(g.root.Revoke(ctx, "token:ci", &lost, ann))
		select {
		case err := <-waits:
			if !errors.Is(err, client.ErrUnauthorized) {
				t.Errorf("what waits ends with %v", err)
			}
		case <-time.After(time.Minute):
			t.Fatal("what waits does not end")
		}
		d, err := top.Node(clienttest.Path).Describe(ctx, "lost-1")
		clienttest.Check(t, err)
		if d.WaiterCount != 0 || mine.State() != client.Attached {
			t.Errorf("%d wait, the session is %v", d.WaiterCount, mine.State())
		}
		if err := has.Release(ctx); err != nil {
			t.Errorf("what it has: %v", err)
		}
		_, err = mine.Semaphore("kept-1", client.Limit(1)).Acquire(ctx)
		clienttest.Check(t, err)
	})
}
