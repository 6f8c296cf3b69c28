package access_test

import (
	"testing"

	"github.com/signalbox/signalbox/protocol"
	rights "github.com/signalbox/signalbox/protocol/access"
	"github.com/signalbox/signalbox/server/handle/access"
	"github.com/signalbox/signalbox/server/handle/handletest"
)

func TestRolesAreSetListedAndAskedFor(t *testing.T) {
	h := handletest.Host(t, nil)
	c := handletest.NewClient(t, h, access.Handlers(h), "")
	root := &protocol.AccessChange{Action: protocol.AccessGrantRole, Principal: []byte("anonymous"),
		Grants: []rights.Grant{{Role: rights.RoleRoot, Path: "/"}}}
	if _, err := c.Ask(root); err != nil {
		t.Fatal(err)
	}
	set := &protocol.AccessChange{Action: protocol.AccessSetRole, Role: []byte("viewer"),
		Rules: []rights.Rule{{Path: "/", Rights: protocol.RightRead}}}
	if _, err := c.Ask(set); err != nil {
		t.Fatal(err)
	}
	grant := &protocol.AccessChange{Action: protocol.AccessGrantRole, Principal: []byte("cn:alice"),
		Grants: []rights.Grant{{Role: "viewer", Path: "/jobs"}}}
	if _, err := c.Ask(grant); err != nil {
		t.Fatal(err)
	}
	a, err := c.Ask(&protocol.AccessList{Roles: true})
	if list := handletest.Must[*protocol.AccessListAnswer](t, a, err); len(list.Roles) != 1 ||
		list.Roles[0].Name != "viewer" {
		t.Errorf("the roles are %+v", list.Roles)
	}
	a, err = c.Ask(&protocol.AccessCheck{Path: []byte("/jobs"), Right: protocol.RightRead,
		Principal: []byte("cn:alice")})
	if d := handletest.Must[*protocol.AccessCheckAnswer](t, a, err).Decisions; len(d) != 1 {
		t.Errorf("the decisions are %+v", d)
	}
	_, err = c.Ask(&protocol.AccessCheck{Path: []byte("/jobs"), Principal: []byte("nobody")})
	handletest.Refused(t, "an identity that is none", err, protocol.StatusBadRequest)
	_, err = c.Ask(&protocol.AccessChange{Action: protocol.AccessSetRole, Role: []byte("x"),
		Rules: []rights.Rule{{Path: "no path", Rights: protocol.RightRead}}})
	handletest.Refused(t, "a rule of no path", err, protocol.StatusBadRequest)
}
