package server

import (
	"errors"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/rights"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/shard/rights"
)

// accessChange changes the rights that the cluster keeps. The leader of the meta shard decides here whether the
// client may make the change; the command names the rights behind the decision.
func (c *conn) accessChange(r *protocol.Request) {
	m := &r.AccessChange
	if !c.leadsMeta(r) {
		return
	}
	book := c.host.meta.Rights()
	request, err := c.accessRequest(m, book)
	var refused *rights.Refusal
	switch {
	case errors.As(err, &refused):
		if refused.Status == protocol.StatusUnauthorized {
			c.denied(c.from(), r.Kind, "", "")
		}
		c.failure(r, refused.Status, refused.Text)
		return
	case err != nil:
		c.failure(r, protocol.StatusBadRequest, err.Error())
		return
	}
	c.metaChange(r, meta.NewCommand(request, c.origin(&m.Operation)), &m.Numbered,
		func(e *meta.Effect, since uint64) protocol.AnswerMessage {
			return &protocol.AccessChangeAnswer{Existed: existed(e), Since: since}
		})
}

// giver is the set of rights that the client may give.
func (c *conn) giver() *rights.Set {
	if set, known := c.set(); known {
		return set
	}
	return &rights.Set{}
}

// set is the rights of the client as rules, if its rights consist of rules.
func (c *conn) set() (_ *rights.Set, known bool) {
	if k, is := c.rights.(*kept); is {
		if k.current().all {
			return allRights, true
		}
		return k.current().set, true
	}
	if own, is := c.rights.(interface{ Set() *rights.Set }); is {
		return own.Set(), true
	}
	return nil, false
}

var allRights = rights.NewSet(kind.Rule{Path: "/", Rights: protocol.RightAll})

// accessRequest returns the command for a change, or why the client may not make the change.
func (c *conn) accessRequest(m *protocol.AccessChange, book *rights.Book) (meta.Request, error) {
	by, checked := c.giver(), meta.Checked(book.Revision())
	role, rules, grants := string(m.Role), m.Rules, m.Grants
	if m.Verb != protocol.AccessRevokeRole {
		if err := checkPlaces(rules, grants); err != nil {
			return nil, err
		}
	}
	switch m.Verb {
	case protocol.AccessSetRole:
		if err := book.MaySetRole(by, role, rules); err != nil {
			return nil, err
		}
		next, _ := book.SetRole(role, rules)
		return &meta.AccessRoleSet{Checked: checked, Name: role, Rules: rules}, c.keepsAdmin(next)
	case protocol.AccessDeleteRole:
		return &meta.AccessRoleDelete{Checked: checked, Name: role}, book.MaySetRole(by, role, nil)
	}
	p, err := kind.ParseIdentity(string(m.Principal))
	if err != nil {
		return nil, err
	}
	switch {
	case m.Verb == protocol.AccessGrantRole && len(grants) == 1:
		if err := book.MayGrant(by, grants[0]); err != nil {
			return nil, err
		}
		next, _ := book.Grant(p, grants[0], 0, "")
		return &meta.AccessGrant{Checked: checked, Principal: p, Grant: grants[0]}, c.keepsAdmin(next)
	case m.Verb == protocol.AccessRevokeRole && len(grants) <= 1:
		request, only := &meta.AccessRevoke{Checked: checked, Principal: p, All: len(grants) == 0}, (*kind.Grant)(nil)
		if !request.All {
			request.Grant, only = grants[0], &grants[0]
		}
		if err := book.MayRevoke(by, p, only); err != nil {
			return nil, err
		}
		next, _ := book.Revoke(p, only, 0, "")
		return request, c.keepsAdmin(next)
	case m.Verb == protocol.AccessCreateToken && p.Kind == kind.Token && len(m.Hash) == protocol.MaxHashBytes:
		return &meta.AccessTokenCreate{Checked: checked, Name: p.Name, Hash: [32]byte(m.Hash), Expires: m.ExpiresMillis,
			Grants: grants}, book.MayCreate(by, grants)
	case m.Verb == protocol.AccessRevokeToken && p.Kind == kind.Token:
		next, _ := book.RevokeToken(p.Name)
		if err := c.keepsAdmin(next); err != nil {
			return nil, err
		}
		return &meta.AccessTokenRevoke{Checked: checked, Name: p.Name}, book.MayRevoke(by, p, nil)
	}
	return nil, errors.New("no change of rights, or one that lacks what it is about")
}

// checkPlaces refuses rights on a path where no node can be.
func checkPlaces(rules []kind.Rule, grants []kind.Grant) error {
	for _, r := range rules {
		if err := meta.CheckPlace(r.Path); err != nil {
			return err
		}
	}
	for _, g := range grants {
		if err := meta.CheckPlace(g.Path); err != nil {
			return err
		}
	}
	return nil
}

// keepsAdmin refuses a change that would take from the client itself the right to change rights on /: such a change
// is a slip, and perhaps no client would be left to undo the slip. Only clients that administer / by the cluster's
// book are checked.
func (c *conn) keepsAdmin(next *rights.Book) error {
	k, is := c.rights.(*kept)
	if !is || !c.giver().Administers("/") || !next.Decided() || next.Set(k.who...).Administers("/") {
		return nil
	}
	return &rights.Refusal{Status: protocol.StatusPreconditionFailed, Text: "after this you could not change rights " +
		"any more: do it with a token that has the role admin or root on / by itself"}
}
