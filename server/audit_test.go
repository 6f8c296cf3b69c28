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

// readers have read access to everything, except the token "admin" with full rights.
type readers struct{ caller.Rights }

func (readers) Authenticate(token []byte) (caller.Rights, string, bool) {
	return reader{admin: string(token) == "admin"}, "token-" + string(token), true
}

type reader struct{ admin bool }

func (r reader) Allows(_, _ string, need protocol.Right) bool {
	return r.admin || need&(protocol.RightRead|protocol.RightSession) != 0
}
func (reader) Valid() bool     { return true }
func (reader) Version() uint64 { return 0 }

func TestEveryAdministrativeActIsAudited(t *testing.T) {
	var log logbook
	c := servertest.Start(t, log.option(), servertest.Config(func(c *server.Config) { c.Access = readers{} }))
	admin, app := enter(t, c, "admin"), enter(t, c, "app")
	node := admin.node("/jobs")
	a := app.session("/jobs", time.Minute)
	app.must(app.ask(&protocol.SemaphoreCreate{Mutation: a.mutation(), NodeID: node, Name: []byte("a sem"), Limit: 3}))
	a.acquire("a sem", 1, 0, false)
	config := protocol.NodeConfig{SessionGracePeriodMillis: 12345}
	for _, act := range []struct {
		ask     func() protocol.RequestMessage
		outcome protocol.Status
		want    string
	}{
		{func() protocol.RequestMessage { return &protocol.NodeAlter{Path: []byte("/jobs"), Config: config} },
			protocol.StatusSuccess,
			`action="alter node" object=/jobs outcome=SUCCESS config="{SelfCheckPeriodMillis:0 SessionGracePeriodMillis:12345 `},
		{func() protocol.RequestMessage {
			return &protocol.NodeAlter{NodeID: node, Config: config, ConfigVersion: 77}
		}, protocol.StatusPreconditionFailed,
			`action="alter node" object=/jobs outcome=PRECONDITION_FAILED config=`},
		{func() protocol.RequestMessage {
			return &protocol.SemaphoreDelete{NodeID: node, Name: []byte("a sem"), Force: true}
		}, protocol.StatusSuccess,
			`action="delete semaphore by force" object="/jobs \"a sem\"" outcome=SUCCESS`},
		{func() protocol.RequestMessage { return &protocol.SessionDestroy{SessionID: a.id} }, protocol.StatusSuccess,
			`action="end session" object=`},
		{func() protocol.RequestMessage { return &protocol.NodeDrop{Path: []byte("/jobs")} }, protocol.StatusSuccess,
			`action="drop node" object=/jobs outcome=SUCCESS`},
	} {
		before := len(log.lines("msg=audit"))
		want(t, "refused", app.ask(act.ask()).Result.Status, protocol.StatusUnauthorized)
		want(t, act.want, admin.ask(act.ask()).Result.Status, act.outcome)
		lines := log.lines("msg=audit")[before:]
		want(t, "records of "+act.want, len(lines), 2)
		verb, _, _ := strings.Cut(act.want, " object=")
		if !strings.Contains(lines[0], "level=WARN msg=audit") ||
			!strings.Contains(lines[0], "token=token-app address=") ||
			!strings.Contains(lines[0], verb) || !strings.Contains(lines[0], "outcome=UNAUTHORIZED") {
			t.Errorf("the refused attempt is recorded as %s", lines[0])
		}
		if !strings.Contains(lines[1], "level=INFO msg=audit") ||
			!strings.Contains(lines[1], "token=token-admin address=") || !strings.Contains(lines[1], act.want) {
			t.Errorf("the record is %s, want %s", lines[1], act.want)
		}
	}
	// A path is recorded in its normalized form, and an existing node is not created again.
	want(t, "the node that exists", admin.ask(&protocol.NodeCreate{Path: []byte("other//node/")}).Result.Status,
		protocol.StatusSuccess)
	want(t, "the node that exists", admin.ask(&protocol.NodeCreate{Path: []byte("other/node")}).NodeCreate.Existed,
		true)
	want(t, "node creations", len(log.lines(`action="create node" object=/other/node outcome=SUCCESS`)), 1)
	want(t, "creation of the node", len(log.lines(`action="create node" object=/jobs outcome=SUCCESS`)), 1)
	// Only administrative actions are recorded.
	want(t, "records", len(log.lines("msg=audit")), 12)
}

// TestAnActOfAGatewayIsAuditedByItsClient: a gateway's action is recorded with the client address named by the gateway,
// and the gateway's own address, for the one announced request.
func TestAnActOfAGatewayIsAuditedByItsClient(t *testing.T) {
	var log logbook
	c := servertest.Start(t, log.option(), servertest.Config(func(c *server.Config) { c.Access = readers{} }))
	admin, app := enter(t, c, "admin"), enter(t, c, "app")
	last := func(address string) {
		t.Helper()
		lines := log.lines("msg=audit")
		if line := lines[len(lines)-1]; !strings.Contains(line, "address="+address) {
			t.Errorf("the record is %s, want the address %s", line, address)
		}
	}
	onBehalf := func(by *speaker, address string) {
		by.must(by.ask(&protocol.ForwardedFor{RequestID: by.next + 2, Address: []byte(address)}))
	}
	onBehalf(admin, "192.0.2.7:5")
	node := admin.node("/jobs")
	last(`"192.0.2.7:5 through client-`)
	admin.node("/other")
	last("client-")
	onBehalf(app, "192.0.2.8:5")
	want(t, "refused", app.ask(&protocol.NodeDrop{NodeID: node}).Result.Status, protocol.StatusUnauthorized)
	last(`"192.0.2.8:5 through client-`)
	denials := admin.must(admin.ask(&protocol.AccessDenials{Limit: 1})).AccessDenials.Denials
	for _, d := range denials {
		if !strings.HasPrefix(d.Address, "192.0.2.8:5 through client-") {
			t.Errorf("the refusal is remembered of %s", d.Address)
		}
	}
	want(t, "refusals", len(denials), 1)
	// An announcement for a later request applies to that request.
	admin.must(admin.ask(&protocol.ForwardedFor{RequestID: admin.next + 3, Address: []byte("192.0.2.9:5")}))
	admin.node("/between")
	last("client-")
	admin.node("/after")
	last(`"192.0.2.9:5 through client-`)
}
