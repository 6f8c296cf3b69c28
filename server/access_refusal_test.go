package server_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/access"
	"github.com/signalbox/signalbox/protocol/session"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/servertest"
)

// tokens have the role that they are named after, on /prod and below; root has all rights.
type tokens struct{}

func (tokens) Authenticate(token []byte) (caller.Rights, string, bool) {
	return limited(token), "the " + string(token) + " of billing", true
}

type limited string

func (l limited) Allows(path, _ string, need protocol.Right) bool {
	have := map[limited]protocol.Right{
		"reader": protocol.RightRead, "writer": protocol.RightRead | protocol.RightSession, "admin": protocol.RightAll,
	}[l]
	return l == "root" || have&need != 0 && (path == "" || strings.HasPrefix(path+"/", "/prod/"))
}
func (limited) Valid() bool     { return true }
func (limited) Version() uint64 { return 0 }

// TestWhoMayReadANodeThatExistsMayAskForItsCreation: a client with read access to a node may call create if the node
// exists.
func TestWhoMayReadANodeThatExistsMayAskForItsCreation(t *testing.T) {
	var log logbook
	c := servertest.Start(t, log.option(), servertest.Hosts(3),
		servertest.Config(func(c *server.Config) { c.Access = tokens{} }))
	admin, reader := enter(t, c, "admin"), enter(t, c, "reader")
	create := func(path string) *protocol.NodeCreate { return &protocol.NodeCreate{Path: []byte(path)} }
	refused := reader.ask(create("/prod/jobs"))
	want(t, "where there is none", refused.Result.Status, protocol.StatusUnauthorized)
	id := admin.node("/prod/jobs")
	a := reader.ask(create("/prod/jobs"))
	want(t, "where there is one", a.Result.Status, protocol.StatusSuccess)
	if n := &a.NodeCreate; !n.Existed || n.Node.ID != id || string(n.Node.Path) != "/prod/jobs" {
		t.Errorf("the answer is %+v, of node %d", n, id)
	}
	want(t, "another path", reader.ask(create("/test/jobs")).Result.Status, protocol.StatusUnauthorized)
	want(t, "no path", reader.ask(create("")).Result.Status, protocol.StatusBadRequest)
	// Creating an existing node is no administrative action; a refused creation is.
	outcomes := strings.Join(log.lines("msg=audit"), "\n")
	want(t, "actions", strings.Count(outcomes, "outcome=SUCCESS"), 1)
	want(t, "refusals", strings.Count(outcomes, "outcome=UNAUTHORIZED"), 2)
}

func TestARefusalSaysWhoseTokenItIsAndWhatItLacks(t *testing.T) {
	c := servertest.Start(t, servertest.Config(func(c *server.Config) { c.Access = tokens{} }))
	admin, reader, writer := enter(t, c, "admin"), enter(t, c, "reader"), enter(t, c, "writer")
	id := admin.node("/prod/jobs")
	for _, x := range []struct {
		by   *speaker
		m    protocol.RequestMessage
		says string
	}{
		{reader, &protocol.NodeCreate{Path: []byte("/prod/new")},
			`the token of "the reader of billing" lacks the permission admin, which NODE_CREATE needs`},
		{reader, &protocol.SemaphoreCreate{NodeID: id, Name: []byte("x"), Limit: 1},
			`the token of "the reader of billing" lacks the permission write, which SEMAPHORE_CREATE needs`},
		{writer, &protocol.SemaphoreDelete{NodeID: id, Name: []byte("x")},
			`the token of "the writer of billing" lacks the permission delete, which SEMAPHORE_DELETE needs`},
		{writer, &protocol.SessionStart{Path: []byte("/test"), TimeoutMillis: 1000, AttachSequence: 1},
			`the token of "the writer of billing" has the permission acquire or write, which SESSION_START needs, but not for /test`},
		{admin, &protocol.NodeDrop{Path: []byte("/test")},
			`the token of "the admin of billing" has the permission admin, which NODE_DROP needs, but not for /test`},
	} {
		a := x.by.ask(x.m)
		want(t, x.says, a.Result.Status, protocol.StatusUnauthorized)
		want(t, "the message", string(a.Result.Message), x.says)
	}
}

// TestANodeThatIsNotThereIsMissingForAll: a node that was dropped, never existed, or is invisible to the client is
// reported as missing. A host that does not know an id asks the meta leader first.
func TestANodeThatIsNotThereIsMissingForAll(t *testing.T) {
	c := servertest.Start(t, servertest.Config(func(c *server.Config) { c.Access = tokens{} }))
	admin, reader := enter(t, c, "admin"), enter(t, c, "reader")
	dropped, there := admin.node("/prod/old"), admin.node("/prod/jobs")
	hidden := enter(t, c, "root").node("/test")
	admin.must(admin.ask(&protocol.NodeDrop{Path: []byte("/prod/old")}))
	for _, x := range []struct {
		what string
		node uint64
		want string
	}{
		{"there, without such a semaphore", there, "no semaphore"},
		{"dropped", dropped, "the node id does not exist"},
		{"never there", 1 << 40, "the node id does not exist"},
		{"not to be known", hidden, "the node id does not exist"},
	} {
		a := reader.ask(&protocol.SemaphoreDescribe{NodeID: x.node, Name: []byte("none")})
		if a.Result.Status != protocol.StatusNotFound || !strings.Contains(a.Result.Message, x.want) {
			t.Errorf("%s: %v %s", x.what, a.Result.Status, a.Result.Message)
		}
		if a := reader.ask(&protocol.NodeDescribe{NodeID: x.node}); x.node != there &&
			a.Result.Status != protocol.StatusNotFound {
			t.Errorf("%s, described: %v %s", x.what, a.Result.Status, a.Result.Message)
		}
	}
}

// TestASessionWhoseNodeMayComeIsNotSaidToBeOver: while the host's meta replica is being refilled, clients that return
// with a session, or present one, are asked to retry.
func TestASessionWhoseNodeMayComeIsNotSaidToBeOver(t *testing.T) {
	for _, x := range []struct {
		name         string
		access       caller.Access
		attach, bind protocol.Status
	}{
		{"by tokens", tokens{}, protocol.StatusUnavailable, protocol.StatusUnavailable},
		{"without tokens", nil, protocol.StatusUnavailable, protocol.StatusSuccess},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := servertest.Start(t, servertest.Config(func(c *server.Config) { c.Access = x.access }))
			first, second := enter(t, c, "admin"), enter(t, c, "admin")
			first.node("/prod/jobs")
			a := first.session("/prod/jobs", time.Minute)
			if err := c.Host(1).ForgetNodes(); err != nil {
				t.Fatal(err)
			}
			bound := second.ask(&protocol.SessionBind{SessionID: a.id, SessionSecret: []byte("key")})
			want(t, "bind", bound.Result.Status, x.bind)
			again := second.ask(&protocol.SessionAttach{SessionID: a.id, SessionSecret: []byte("key"),
				AttachSequence: 1})
			want(t, "attach", again.Result.Status, x.attach)
			if !strings.Contains(again.Result.Message, "being filled") {
				t.Errorf("it says %q", again.Result.Message)
			}
		})
	}
}

// TestATokenOfSomeNamesSeesTheSessionsThatHaveToDoWithThem: a token limited to some object names sees the sessions of
// these objects, in all shards, and only the existence of other sessions.
func TestATokenOfSomeNamesSeesTheSessionsThatHaveToDoWithThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keepRights(t, 1)
		node := k.root.node("/jobs")
		part := grant("write", "/jobs")
		part.Object = "mine-"
		k.create(k.root, "some", 0, part)
		k.create(k.root, "all", 0, grant("read", "/jobs"))
		k.create(k.root, "other", 0, grant("write", "/jobs"))
		some, all := k.enterAt(1, "some"), k.enterAt(1, "all")
		start := func(by *speaker, description, name string) uint64 {
			a := by.must(by.ask(&protocol.SessionStart{Path: []byte("/jobs"), TimeoutMillis: 60_000,
				SessionSecret: []byte("key"), Details: session.Details{Description: description}})).SessionStart
			s := &started{s: by, id: a.SessionID, node: node}
			if name != "" {
				s.acquire(name, 1, 60_000, true)
			}
			return s.id
		}
		other := k.enterAt(1, "other")
		secret := start(other, "secret", "theirs")
		idle := start(other, "idle", "")
		ids := []uint64{secret, idle, start(other, "owns", "mine-1"), start(other, "waits", "mine-1"),
			start(some, "own", "")}
		listed := func(by *speaker) (list []string) {
			a := by.must(by.ask(&protocol.SessionList{NodeID: node, ShardID: 1})).SessionList
			for s := range a.Sessions.All() {
				list = append(list, s.Details.Description)
			}
			slices.Sort(list)
			return list
		}
		described := func(by *speaker) (list []string) {
			for _, id := range ids {
				s := by.must(by.ask(&protocol.SessionDescribe{SessionID: id})).SessionDescribe.Session
				if s.Details.Description != "" != (len(s.Client.Address) > 0) {
					t.Errorf("the session %q has the client %+v", s.Details.Description, s.Client)
				}
				list = append(list, s.Details.Description)
			}
			return list
		}
		want(t, "who may see all lists", strings.Join(listed(all), " "), "idle own owns secret waits")
		want(t, "who may see all describes", strings.Join(described(all), " "), "secret idle owns waits own")
		want(t, "who may see some lists", strings.Join(listed(some), " "), "own owns waits")
		want(t, "who may see some describes", strings.Join(described(some), ","), ",,owns,waits,own")
	})
}

// TestRightsAreNotGivenWhereNoNodeCanBe: a grant on an invalid path is refused, and one from an old log can be revoked.
func TestRightsAreNotGivenWhereNoNodeCanBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keepRights(t, 1)
		k.create(k.root, "ci", 0, grant("read", "/prod"))
		part := strings.Repeat("x", 256)
		for path, hint := range map[string]string{
			"/prod/b/../a": "did you mean /prod/a?", "/prod/.": "did you mean /prod?", "/..": "write it like",
			"//": "write it like", "/prod/": "did you mean /prod?", "/prod//a": "did you mean /prod/a?",
			"prod": "did you mean /prod?", "": "write it like", "/prod/\x07": "0x07", "/a b": "0x20",
			"/" + part: "256 bytes long", strings.Repeat("/x", 33): "more than 32 parts",
		} {
			for what, m := range map[string]*protocol.AccessChange{
				"a grant": grantTo("token:ci", grant("read", path)),
				"a role": {Action: protocol.AccessSetRole, Role: []byte("r"),
					Rules: []access.Rule{{Path: path, Rights: access.Read}}},
				"a token": {Action: protocol.AccessCreateToken, Principal: []byte("token:x"), Hash: make([]byte, 32),
					Grants: []access.Grant{grant("read", path)}},
			} {
				a := k.root.ask(m).Result
				if a.Status != protocol.StatusBadRequest || !strings.Contains(a.Message, hint) {
					t.Errorf("%s on %.40q: %v %s", what, path, a.Status, a.Message)
				}
			}
		}
		revoke := grantTo("token:ci", grant("read", "/prod/b/../a"))
		revoke.Action = protocol.AccessRevokeRole
		want(t, "taking what is not given", k.root.ask(revoke).Result.Status, protocol.StatusSuccess)
		k.root.must(k.root.ask(grantTo("token:ci", grant("read", "/"))))
	})
}
