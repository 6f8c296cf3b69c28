package access_test

import (
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/rights"
	"github.com/signalbox/signalbox/server/handle/access"
	"github.com/signalbox/signalbox/server/handle/handletest"
)

func TestRolesAreSetListedAndAskedFor(t *testing.T) {
	h := handletest.Host(t, nil)
	c := handletest.NewClient(t, h, access.Handlers(h), "")
	set := &protocol.AccessChange{Verb: protocol.AccessSetRole, Role: []byte("viewer"),
		Rules: []rights.Rule{{Path: "/", Rights: protocol.RightSee}}}
	if _, err := c.Ask(set); err != nil {
		t.Fatal(err)
	}
	grant := &protocol.AccessChange{Verb: protocol.AccessGrantRole, Principal: []byte("cn:alice"),
		Grants: []rights.Grant{{Role: "viewer", Path: "/jobs"}}}
	if _, err := c.Ask(grant); err != nil {
		t.Fatal(err)
	}
	a, err := c.Ask(&protocol.AccessList{Roles: true})
	if list := handletest.Must[*protocol.AccessListAnswer](t, a, err); len(list.Roles) != 1 ||
		list.Roles[0].Name != "viewer" {
		t.Errorf("the roles are %+v", list.Roles)
	}
	a, err = c.Ask(&protocol.AccessAsk{Path: []byte("/jobs"), Right: protocol.RightSee, Principal: []byte("cn:alice")})
	if d := handletest.Must[*protocol.AccessAskAnswer](t, a, err).Decisions; len(d) != 1 {
		t.Errorf("the decisions are %+v", d)
	}
	_, err = c.Ask(&protocol.AccessAsk{Path: []byte("/jobs"), Principal: []byte("nobody")})
	handletest.Refused(t, "an identity that is none", err, protocol.StatusBadRequest)
	_, err = c.Ask(&protocol.AccessChange{Verb: protocol.AccessSetRole, Role: []byte("x"),
		Rules: []rights.Rule{{Path: "no path", Rights: protocol.RightSee}}})
	handletest.Refused(t, "a rule of no path", err, protocol.StatusBadRequest)
}
