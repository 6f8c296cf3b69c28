package ydb_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Auth_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Discovery_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Scheme_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Auth"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Discovery"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Scheme"

	"github.com/signalbox/signalbox/client/admin"
)

const denied = Ydb.StatusIds_UNAUTHORIZED

// newGatedRig is a cluster that requires tokens, with the tests' node. The token "root" has all rights; each named
// token has its role's rights.
func newGatedRig(t *testing.T, tokens map[string]string) *rig {
	t.Helper()
	r := newRig(t, 1)
	r.ticket = "root"
	open := admin.New(r.native())
	make := func(name, role, path string) error {
		grants := []admin.Grant{{Role: role, Path: path}}
		_, err := open.CreateToken(t.Context(), name, name, time.Time{}, grants, admin.ChangeInfo{})
		return err
	}
	until := time.Now().Add(limit)
	for err := make("root", "root", "/"); err != nil; err = make("root", "root", "/") {
		if time.Now().After(until) {
			t.Fatalf("the cluster does not keep rights: %v", err)
		}
	}
	open = admin.New(r.nativeWith("root"))
	for name, role := range tokens {
		if err := make(name, role, database); err != nil {
			t.Fatal(err)
		}
	}
	r.create()
	return r
}

// TestTicketsAreTokens: a missing or wrong ticket is refused with the issue known to SDKs.
func TestTicketsAreTokens(t *testing.T) {
	r := newGatedRig(t, map[string]string{"reader": "read"})
	for _, ticket := range []string{"", "wrong"} {
		r.ticket = ticket
		_, code := r.describe(nodePath)
		s := r.call()
		s.begin(start{})
		failure := s.next().GetFailure()
		if code != denied || failure.GetStatus() != denied {
			t.Fatalf("with the ticket %q: %v, %v", ticket, code, failure)
		}
		i := failure.Issues
		if len(i) != 1 || i[0].IssueCode != 200_004 || !strings.HasPrefix(i[0].Message, "Access denied") {
			t.Errorf("with the ticket %q: %v", ticket, i)
		}
	}
	r.ticket = "reader"
	if _, code := r.describe(nodePath); code != ok {
		t.Errorf("one who may see it: %v", code)
	}
	if code := r.drop(nodePath); code != denied {
		t.Errorf("one who may see it has dropped it: %v", code)
	}
	s := r.call()
	s.begin(start{})
	s.fails(denied)
}

// TestTicketsFromElsewhereNeedTLS: others could read tickets on their way, unless a setting declares the network safe.
func TestTicketsFromElsewhereNeedTLS(t *testing.T) {
	r := newGatedRig(t, nil)
	r.elsewhere = true
	for _, c := range []struct {
		name   string
		plain  bool
		ticket string
		want   Ydb.StatusIds_StatusCode
	}{
		{name: "a ticket", ticket: "root", want: denied},
		{name: "a ticket, and plain ones are taken", ticket: "root", plain: true, want: ok},
		{name: "a wrong ticket, and plain ones are taken", ticket: "wrong", plain: true, want: denied},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.plainTickets, r.ticket = c.plain, c.ticket
			r.serve()
			if _, code := r.describe(nodePath); code != c.want {
				t.Errorf("describe: %v, want %v", code, c.want)
			}
			if _, code := login(t, r, "root", c.ticket); code != c.want {
				t.Errorf("login: %v, want %v", code, c.want)
			}
			s := r.call()
			s.begin(start{})
			if code := s.next().GetFailure().GetStatus(); (code == denied) != (c.want == denied) {
				t.Errorf("a session: %v, want %v", code, c.want)
			}
		})
	}
}

// TestEachRequestNeedsItsRight: a request without its right is refused in its result, and the stream continues.
func TestEachRequestNeedsItsRight(t *testing.T) {
	r := newGatedRig(t, map[string]string{"writer": "write", "operator": "operator"})
	r.ticket = "writer"
	w := r.session(start{})
	w.createSemaphore("sem", 1, "", ok)
	w.acquired(w.acquire("sem", 1, 0, false), true, ok)
	w.updateSemaphore("sem", "data", ok)
	w.deleteSemaphore("sem", true, denied)
	w.released(w.release("sem"), true)
	r.ticket = "operator"
	o := r.session(start{})
	o.deleteSemaphore("sem", false, ok)
}

// login asks for a ticket.
func login(t *testing.T, r *rig, user, password string) (*Ydb_Auth.LoginResult, Ydb.StatusIds_StatusCode) {
	t.Helper()
	a, err := Ydb_Auth_V1.NewAuthServiceClient(r.dial()).Login(t.Context(),
		&Ydb_Auth.LoginRequest{User: user, Password: password})
	code := done(t, a, err)
	result := &Ydb_Auth.LoginResult{}
	if code == ok {
		if err := a.Operation.Result.UnmarshalTo(result); err != nil {
			t.Fatal(err)
		}
	} else if a.Operation.Result != nil {
		t.Errorf("%s was refused and got %v", user, a.Operation.Result)
	}
	return result, code
}

// TestLogin: user and password are a token's name and the token; the answer is a ticket.
func TestLogin(t *testing.T) {
	r := newGatedRig(t, map[string]string{"writer": "write"})
	for _, c := range []struct{ user, password string }{{"writer", "wrong"}, {"root", "writer"}, {"writer", ""}} {
		if _, code := login(t, r, c.user, c.password); code != denied {
			t.Errorf("%v: %v", c, code)
		}
	}
	got, code := login(t, r, "writer", "writer")
	if code != ok {
		t.Fatalf("login: %v", code)
	}
	r.ticket = got.Token
	a, err := Ydb_Discovery_V1.NewDiscoveryServiceClient(r.dial()).WhoAmI(r.context(), &Ydb_Discovery.WhoAmIRequest{})
	who := &Ydb_Discovery.WhoAmIResult{}
	if code := done(t, a, err); code != ok || a.Operation.Result.UnmarshalTo(who) != nil || who.User != "writer" {
		t.Errorf("who am I: %v, %v", code, who)
	}
}

// TestPermissionsAreRoles: ModifyPermissions grants and revokes roles at the path.
func TestPermissionsAreRoles(t *testing.T) {
	r := newGatedRig(t, map[string]string{"ci": "read"})
	permit := func(code Ydb.StatusIds_StatusCode, actions ...*Ydb_Scheme.PermissionsAction) {
		t.Helper()
		a, err := Ydb_Scheme_V1.NewSchemeServiceClient(r.dial()).ModifyPermissions(r.context(),
			&Ydb_Scheme.ModifyPermissionsRequest{Path: nodePath, Actions: actions})
		if got := done(t, a, err); got != code {
			t.Fatalf("%v: %v, want %v", actions, a.Operation, code)
		}
	}
	of := func(names ...string) *Ydb_Scheme.Permissions {
		return &Ydb_Scheme.Permissions{Subject: "ci", PermissionNames: names}
	}
	granted := func(want string) {
		t.Helper()
		all, _, err := admin.New(r.nativeWith("root")).Principals(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range all {
			for _, g := range p.Grants {
				if p.Name == "token:ci" && g.Path == nodePath {
					got = append(got, g.Role)
				}
			}
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("it has the roles %q, want %q", got, want)
		}
	}
	grant := func(names ...string) *Ydb_Scheme.PermissionsAction {
		return &Ydb_Scheme.PermissionsAction{Action: &Ydb_Scheme.PermissionsAction_Grant{Grant: of(names...)}}
	}
	set := func(names ...string) *Ydb_Scheme.PermissionsAction {
		return &Ydb_Scheme.PermissionsAction{Action: &Ydb_Scheme.PermissionsAction_Set{Set: of(names...)}}
	}
	permit(ok, grant("ydb.granular.update_row", "ydb.granular.erase_row"))
	granted("write ydb-erase")
	permit(ok, &Ydb_Scheme.PermissionsAction{Action: &Ydb_Scheme.PermissionsAction_Revoke{
		Revoke: of("ydb.granular.update_row")}})
	granted("ydb-erase")
	permit(ok, set("ydb.generic.read", "ydb.generic.full"))
	granted("admin read")
	permit(Ydb.StatusIds_BAD_REQUEST, grant("ydb.granular.fly"))
	permit(Ydb.StatusIds_UNSUPPORTED, &Ydb_Scheme.PermissionsAction{
		Action: &Ydb_Scheme.PermissionsAction_ChangeOwner{ChangeOwner: "ci"}})
	permit(ok, set())
	granted("")
	r.ticket = "ci"
	permit(denied, grant("ydb.generic.full"))
}
