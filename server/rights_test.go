package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/servertest"
)

// tokens have the role that they are, for /prod and what is below it; root has all.
type tokens struct{}

func (tokens) Authenticate(token []byte) (caller.Rights, string, bool) {
	return limited(token), "the " + string(token) + " of billing", true
}

type limited string

func (l limited) Allows(path, _ string, need protocol.Right) bool {
	have := map[limited]protocol.Right{
		"reader": protocol.RightSee, "writer": protocol.RightSee | protocol.RightSession, "admin": protocol.RightAll,
	}[l]
	return l == "root" || have&need != 0 && (path == "" || strings.HasPrefix(path+"/", "/prod/"))
}
func (limited) Valid() bool     { return true }
func (limited) Version() uint64 { return 0 }

// TestWhoMayReadANodeThatExistsMayAskForItsCreation: a client that may read a node may ask for it to be there.
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
	// What was there before is no administrative act; what was refused is.
	outcomes := strings.Join(log.lines("msg=audit"), "\n")
	want(t, "acts", strings.Count(outcomes, "outcome=SUCCESS"), 1)
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
			`the token of "the reader of billing" does not have the right admin, which NODE_CREATE needs`},
		{reader, &protocol.SemaphoreCreate{NodeID: id, Name: []byte("x"), Limit: 1},
			`the token of "the reader of billing" does not have the right write, which SEMAPHORE_CREATE needs`},
		{writer, &protocol.SemaphoreDelete{NodeID: id, Name: []byte("x")},
			`the token of "the writer of billing" does not have the right delete, which SEMAPHORE_DELETE needs`},
		{writer, &protocol.SessionStart{Path: []byte("/test"), TimeoutMillis: 1000, AttachSequence: 1},
			`the token of "the writer of billing" has the right acquire or write, which SESSION_START needs, but not for /test`},
		{admin, &protocol.NodeDrop{Path: []byte("/test")},
			`the token of "the admin of billing" has the right admin, which NODE_DROP needs, but not for /test`},
	} {
		a := x.by.ask(x.m)
		want(t, x.says, a.Result.Status, protocol.StatusUnauthorized)
		want(t, "the message", string(a.Result.Message), x.says)
	}
}

// TestANodeThatIsNotThereIsMissingForAll, be it that it was dropped, never was, or must not be known. A host that does
// not know an id asks the leader of the meta shard first.
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
		{"dropped", dropped, "no node"},
		{"never there", 1 << 40, "no node"},
		{"not to be known", hidden, "no node"},
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

// TestASessionWhoseNodeMayComeIsNotSaidToBeOver: where the host's copy of the meta shard is being filled again, who
// comes back with a session, or brings it along, is to come again.
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
			bound := second.ask(&protocol.SessionBind{SessionID: a.id, Key: []byte("key")})
			want(t, "bind", bound.Result.Status, x.bind)
			again := second.ask(&protocol.SessionAttach{SessionID: a.id, Key: []byte("key"), AttachSequence: 1})
			want(t, "attach", again.Result.Status, x.attach)
			if !strings.Contains(again.Result.Message, "being filled") {
				t.Errorf("it says %q", again.Result.Message)
			}
		})
	}
}
