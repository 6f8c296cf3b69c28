package server_test

import (
	"context"
	"crypto/sha256"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/access"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// keeping is a cluster with access control: the token root has full rights, anonymous clients have none.
type keeping struct {
	*testing.T
	*servertest.Cluster
	root *speaker
}

func keepRights(t *testing.T, hosts int) *keeping {
	t.Helper()
	k := found(t, hosts)
	k.protect()
	return k
}

// protect creates the token root, which removes all rights from anonymous clients.
func (k *keeping) protect() {
	k.create(k.anybody(), "root", 0, grant("root", "/"))
	k.root = k.enterAt(k.metaLeader(), "root")
}

// found starts a cluster that supports access control and has no rules yet.
func found(t *testing.T, hosts int) *keeping {
	t.Helper()
	k := &keeping{T: t, Cluster: servertest.Start(t, servertest.Hosts(hosts))}
	for bootstrapped := false; !bootstrapped; time.Sleep(10 * time.Millisecond) {
		bootstrapped = true
		for id := range shard.HostID(hosts) {
			bootstrapped = k.Host(id+1).EnsureBootstrapped() && bootstrapped
		}
	}
	return k
}

// metaLeader waits for a meta leader.
func (k *keeping) metaLeader() (id shard.HostID) {
	within(k.T, "a leader of the meta shard", time.Minute, func() bool {
		id = k.Host(1).MetaLeader()
		return id != 0
	})
	return id
}

func (k *keeping) anybody() *speaker { return speak(k.T, k.Cluster, k.metaLeader()) }

// knock sends a HELLO with a token, and returns the host's answer.
func (k *keeping) knock(id shard.HostID, token string) (*speaker, protocol.Result) {
	k.Helper()
	conn, err := k.Dial(context.Background(), servertest.Address(id))
	if err != nil {
		k.Fatal(err)
	}
	s := speakOver(k.T, conn)
	return s, s.ask(&protocol.Hello{VersionMin: 1, VersionMax: 1, Token: []byte(token),
		PushKinds: protocol.PushKinds()}).Result
}

func (k *keeping) enterAt(id shard.HostID, token string) *speaker {
	k.Helper()
	s, result := k.knock(id, token)
	if err := result.Err(); err != nil {
		k.Fatalf("the token %s at host %d: %v", token, id, err)
	}
	return s
}

func grant(role, path string) access.Grant { return access.Grant{Role: role, Path: path} }

// create creates a token with its name as secret.
func (k *keeping) create(by *speaker, name string, expires uint64, list ...access.Grant) {
	k.Helper()
	hash := sha256.Sum256([]byte(name))
	by.must(by.ask(&protocol.AccessChange{Action: protocol.AccessCreateToken, Principal: []byte("token:" + name),
		Hash: hash[:], ExpiresMillis: expires, Grants: list}))
}

func grantTo(principal string, g access.Grant) *protocol.AccessChange {
	return &protocol.AccessChange{Action: protocol.AccessGrantRole, Principal: []byte(principal),
		Grants: []access.Grant{g}}
}

func TestRightsHoldOnEveryHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keepRights(t, 3)
		k.root.node("/prod")
		k.root.node("/test")
		other := k.metaLeader()%3 + 1
		k.create(k.root, "ci", 0, grant("read", "/prod"))
		ci := k.enterAt(other, "ci") // accepted at once on another host
		describe := func(path string) protocol.Status {
			return ci.ask(&protocol.NodeDescribe{Path: []byte(path)}).Result.Status
		}
		want(t, "what it may see", describe("/prod"), protocol.StatusSuccess)
		want(t, "what it may not", describe("/test"), protocol.StatusUnauthorized)
		k.root.must(k.root.ask(grantTo("token:ci", grant("read", "/test"))))
		within(t, "the grant", time.Second, func() bool { return describe("/test") == protocol.StatusSuccess })
		revoke := &protocol.AccessChange{Action: protocol.AccessRevokeRole, Principal: []byte("token:ci"),
			Grants: []access.Grant{grant("read", "/prod")}}
		k.root.must(k.root.ask(revoke))
		within(t, "the loss", time.Second, func() bool { return describe("/prod") == protocol.StatusUnauthorized })
		k.root.must(k.root.ask(&protocol.AccessChange{Action: protocol.AccessRevokeToken,
			Principal: []byte("token:ci")}))
		want(t, "the end of what is open", ci.closed(time.Second), protocol.StatusUnauthorized)
		_, refused := k.knock(other, "ci")
		want(t, "the revoked token", refused.Status, protocol.StatusUnauthorized)
		_, refused = k.knock(other, "")
		want(t, "no token", refused.Status, protocol.StatusUnauthorized)
	})
}

// within waits until something holds.
func within(t *testing.T, what string, limit time.Duration, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s does not hold after %v", what, limit)
		}
	}
}

// TestAHostThatLagsTrustsItsRightsNoLongerThanSaid: after 10 s without fresh rights a host rejects token logins and
// administrative requests, after 60 s it closes open connections.
func TestAHostThatLagsTrustsItsRightsNoLongerThanSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keepRights(t, 3)
		id := k.root.node("/prod")
		k.create(k.root, "ci", 0, grant("operator", "/prod"))
		lags := k.metaLeader()%3 + 1
		ci := k.enterAt(lags, "ci")
		k.Isolate(lags)
		began := time.Now()
		delete := func() string {
			return ci.ask(&protocol.SemaphoreDelete{NodeID: id, Name: []byte("x")}).Result.Message
		}
		const lagging = "the host cannot confirm the access rules at the moment"
		alive := func(until time.Duration) {
			for time.Since(began) < until {
				time.Sleep(time.Second)
				if time.Since(began) < until {
					ci.say(&protocol.Ping{})
				}
			}
		}
		alive(6 * time.Second)
		if got := delete(); got == lagging {
			t.Errorf("after %v: %s", time.Since(began), got)
		}
		k.enterAt(lags, "ci")
		alive(13 * time.Second)
		want(t, "a grave request", delete(), lagging)
		if got := ci.ask(&protocol.SemaphoreDescribe{NodeID: id, Name: []byte("x")}).Result.Message; got == lagging {
			t.Errorf("a request that is not grave: %s", got)
		}
		_, refused := k.knock(lags, "ci")
		want(t, "a newcomer", refused.Status, protocol.StatusUnavailable)
		alive(50 * time.Second)
		ci.must(ci.ask(&protocol.Routing{}))
		want(t, "the end of what is open", ci.closed(15*time.Second), protocol.StatusUnavailable)
		k.Heal()
		within(t, "that it lets in again", time.Minute, func() bool {
			_, r := k.knock(lags, "ci")
			return r.Status == protocol.StatusSuccess
		})
		root := k.enterAt(lags, "root")
		denials := root.must(root.ask(&protocol.AccessDenials{})).AccessDenials
		var all []string
		for _, d := range denials.Denials {
			all = append(all, d.Who+" "+d.Request)
		}
		if !slices.Contains(all, "token:ci SEMAPHORE_DELETE") || !slices.Contains(all, "unknown HELLO") {
			t.Errorf("the host remembers that it refused %q", slices.Compact(all))
		}
	})
}

// TestAHostThatDoesNotKnowATokenMakesSureFirst: the host's state may predate access control, when every client was
// accepted. A client accepted on that basis would be disconnected soon after as anonymous, despite a valid token.
func TestAHostThatDoesNotKnowATokenMakesSureFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := found(t, 3)
		lags := k.metaLeader()%3 + 1
		k.Isolate(lags)
		k.protect()
		_, refused := k.knock(lags, "root")
		want(t, "a token made without this host", refused.Status, protocol.StatusUnavailable)
		k.Heal()
		within(t, "that it lets in again", time.Minute, func() bool {
			_, r := k.knock(lags, "root")
			return r.Status == protocol.StatusSuccess
		})
		_, refused = k.knock(lags, "nobody's")
		want(t, "a token that there is not", refused.Status, protocol.StatusUnauthorized)
	})
}

func TestATokenExpiresAfterAWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keepRights(t, 1)
		k.create(k.root, "ci", uint64(time.Now().Add(6*time.Minute).UnixMilli()), grant("read", "/"))
		ci := k.enterAt(1, "ci")
		for range 63 {
			time.Sleep(time.Second)
			ci.say(&protocol.Ping{})
		}
		warning := ci.await(0, protocol.KindTokenExpiring).TokenExpiring
		if string(warning.Token) != "ci" || warning.LeftMillis > 300_000 || warning.LeftMillis < 290_000 {
			t.Errorf("the warning: %s, %d ms", warning.Token, warning.LeftMillis)
		}
		for range 295 {
			time.Sleep(time.Second)
			ci.say(&protocol.Ping{})
		}
		ci.must(ci.ask(&protocol.Routing{}))
		want(t, "its end", ci.closed(10*time.Second), protocol.StatusUnauthorized)
		_, refused := k.knock(1, "ci")
		want(t, "a newcomer", refused.Status, protocol.StatusUnauthorized)
	})
}

// TestRightsAreGivenBelowAndNoMoreThanOneHas: an admin of a path may grant rights only below that path.
func TestRightsAreGivenBelowAndNoMoreThanOneHas(t *testing.T) {
	k := keepRights(t, 1)
	k.create(k.root, "lead", 0, grant("admin", "/prod"))
	k.create(k.root, "ci", 0, grant("read", "/test"))
	k.create(k.root, "reader", 0, grant("read", "/prod"))
	lead := k.enterAt(1, "lead")
	role := &protocol.AccessChange{Action: protocol.AccessSetRole, Role: []byte("mine")}
	role.Rules = []access.Rule{{Path: "/prod", Rights: 1}}
	hash := sha256.Sum256([]byte("new"))
	token := func(g ...access.Grant) *protocol.AccessChange {
		return &protocol.AccessChange{Action: protocol.AccessCreateToken, Principal: []byte("token:new"), Hash: hash[:],
			Grants: g}
	}
	for _, c := range []struct {
		what string
		by   *speaker
		m    *protocol.AccessChange
		want protocol.Status
	}{
		{"below", lead, grantTo("token:ci", grant("write", "/prod/jobs")), protocol.StatusSuccess},
		{"again", lead, grantTo("token:ci", grant("write", "/prod/jobs")), protocol.StatusSuccess},
		{"above", lead, grantTo("token:ci", grant("read", "/")), protocol.StatusUnauthorized},
		{"beside", lead, grantTo("token:ci", grant("read", "/production")), protocol.StatusUnauthorized},
		{"a role", lead, role, protocol.StatusUnauthorized},
		{"a token", lead, token(grant("read", "/prod")), protocol.StatusSuccess},
		{"a token of nothing", lead, token(), protocol.StatusUnauthorized},
		{"all of another", lead, &protocol.AccessChange{Action: protocol.AccessRevokeRole,
			Principal: []byte("token:ci")}, protocol.StatusUnauthorized},
		{"root below", k.root, grantTo("token:ci", grant("root", "/prod")), protocol.StatusBadRequest},
		{"no verb", k.root, &protocol.AccessChange{Principal: []byte("anonymous")}, protocol.StatusBadRequest},
		{"no principal", k.root, grantTo("ci", grant("read", "/")), protocol.StatusBadRequest},
		{"oneself", k.root, &protocol.AccessChange{Action: protocol.AccessRevokeToken, Principal: []byte("token:root")},
			protocol.StatusPreconditionFailed},
		{"a reader", k.enterAt(1, "reader"), grantTo("token:ci", grant("read", "/prod")), protocol.StatusUnauthorized},
	} {
		if a := c.by.ask(c.m); a.Result.Status != c.want {
			t.Errorf("%s: %v, %s", c.what, a.Result.Status, a.Result.Message)
		}
	}
	list := lead.must(lead.ask(&protocol.AccessList{})).AccessList
	var shown []string
	for _, p := range list.Principals {
		shown = append(shown, p.Name)
	}
	want(t, "what lead is shown", strings.Join(shown, " "), "token:ci token:lead token:new token:reader")
}

// TestAnonymousCannotLockItselfOut: anonymous cannot revoke its own right to change access rules.
func TestAnonymousCannotLockItselfOut(t *testing.T) {
	k := keepRights(t, 1)
	k.root.must(k.root.ask(grantTo("anonymous", grant("admin", "/"))))
	anybody := k.anybody()
	anybody.node("/prod")
	close := &protocol.AccessChange{Action: protocol.AccessRevokeRole, Principal: []byte("anonymous")}
	want(t, "closed by one without a token", anybody.ask(close).Result.Status, protocol.StatusPreconditionFailed)
	k.root.must(k.root.ask(close))
	want(t, "what was open", anybody.closed(patience), protocol.StatusUnauthorized)
}

// TestTheLastWhoGivesRightsCannotStop: a client that may change rights on / keeps this right whatever it does, so at
// least one always exists.
func TestTheLastWhoGivesRightsCannotStop(t *testing.T) {
	k := keepRights(t, 1)
	role := func(name string, right protocol.Right) *protocol.AccessChange {
		m := &protocol.AccessChange{Action: protocol.AccessSetRole, Role: []byte(name)}
		m.Rules = []access.Rule{{Path: "/", Rights: right}}
		return m
	}
	k.root.must(k.root.ask(role("boss", protocol.RightAll)))
	k.create(k.root, "boss", 0, grant("boss", "/"))
	boss := k.enterAt(1, "boss")
	boss.must(boss.ask(&protocol.AccessChange{Action: protocol.AccessRevokeToken, Principal: []byte("token:root")}))
	revoke := &protocol.AccessChange{Action: protocol.AccessRevokeRole, Principal: []byte("token:boss")}
	one := *revoke
	one.Grants = []access.Grant{grant("boss", "/")}
	for what, m := range map[string]*protocol.AccessChange{
		"its token":         {Action: protocol.AccessRevokeToken, Principal: []byte("token:boss")},
		"its roles":         revoke,
		"its role":          &one,
		"what its role is":  role("boss", protocol.RightRead|protocol.RightAdmin<<1),
		"the role that has": {Action: protocol.AccessDeleteRole, Role: []byte("boss")},
	} {
		want(t, what, boss.ask(m).Result.Status, protocol.StatusPreconditionFailed)
	}
	boss.must(boss.ask(role("boss", protocol.RightRead|protocol.RightAdmin)))
	boss.must(boss.ask(grantTo("anonymous", grant("read", "/"))))
	want(t, "more than it has left", boss.ask(grantTo("anonymous", grant("write", "/"))).Result.Status,
		protocol.StatusUnauthorized)
}

func TestWhoMayAndWhoWasRefused(t *testing.T) {
	k := keepRights(t, 1)
	id := k.root.node("/prod")
	part := access.Grant{Role: "operator", Path: "/prod", Object: "nightly-"}
	k.create(k.root, "ci", 0, part)
	for _, name := range []string{"nightly-1", "nightly-2", "daily"} {
		k.root.must(k.root.ask(&protocol.SemaphoreCreate{NodeID: id, Name: []byte(name), Limit: 1}))
	}
	ci := k.enterAt(1, "ci")
	list := ci.must(ci.ask(&protocol.SemaphoreList{NodeID: id, ShardID: 1})).SemaphoreList
	want(t, "what a token of some objects is shown", list.Semaphores.Len(), 2)
	drop := func(name string) protocol.Result {
		return ci.ask(&protocol.SemaphoreDelete{NodeID: id, Name: []byte(name)}).Result
	}
	want(t, "its own", drop("nightly-1").Status, protocol.StatusSuccess)
	refused := drop("daily")
	want(t, "another", refused.Status, protocol.StatusUnauthorized)
	want(t, "why", refused.Message,
		`the token of "ci" has the permission delete, which SEMAPHORE_DELETE needs, but not for "daily" in /prod`)
	// The recorded denial outlives the request's bytes.
	ci.must(ci.ask(&protocol.SemaphoreDescribe{NodeID: id, Name: []byte("nightly-2")}))
	ask := func(m *protocol.AccessCheck) (who []string) {
		a := k.root.must(k.root.ask(m)).AccessCheck
		for _, d := range a.Decisions {
			who = append(who, d.Principal+" by "+d.Grant.Role)
		}
		return who
	}
	may := &protocol.AccessCheck{Path: []byte("/prod"), Object: []byte("nightly-2"), Right: protocol.RightDelete}
	want(t, "who may", strings.Join(ask(may), ", "), "token:ci by operator, token:root by root")
	may.Principal, may.Object = []byte("token:ci"), []byte("daily")
	want(t, "whether it may", len(ask(may)), 0)
	denials := k.root.must(k.root.ask(&protocol.AccessDenials{})).AccessDenials
	want(t, "refusals", denials.Total, 1)
	for _, d := range denials.Denials {
		want(t, "who", d.Who, "token:ci")
		want(t, "what", d.Request+" "+d.Path+" "+d.Object, "SEMAPHORE_DELETE /prod daily")
	}
}
