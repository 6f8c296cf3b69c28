package server

import (
	"errors"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/shard/rights"
)

// accessChange changes who may do what. Whether the client may do that is decided here, at the leader of the meta
// shard; the command names the rights that it was decided by.
func (c *conn) accessChange(r *protocol.Request) {
	m := &r.AccessChange
	if !c.authorize(r, "", "") || !c.leadsMeta(r) {
		return
	}
	book := c.host.meta.Rights()
	request, err := c.accessRequest(m, book)
	var refused *rights.Refusal
	switch {
	case errors.As(err, &refused):
		if refused.Status == protocol.StatusUnauthorized {
			c.denied(r.Kind, "", "")
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

// giver is what the client has to give: nil for everything.
func (c *conn) giver() *rights.Set {
	if k, is := c.rights.(*kept); is {
		if k.current().all {
			return allRights
		}
		return k.current().set
	}
	if own, is := c.rights.(interface{ Set() *rights.Set }); is {
		return own.Set()
	}
	return &rights.Set{}
}

var allRights = rights.NewSet(rights.Rule{Path: "/", Rights: protocol.RightAll})

// accessRequest returns the command for a change, or why the client may not make it.
func (c *conn) accessRequest(m *protocol.AccessChange, book *rights.Book) (meta.Request, error) {
	by, checked := c.giver(), meta.Checked(book.Revision())
	role, rules, grants := string(m.Role), rulesOf(&m.Rules), grantsOf(&m.Grants)
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
	p, err := rights.ParsePrincipal(string(m.Principal))
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
		request, only := &meta.AccessRevoke{Checked: checked, Principal: p, All: len(grants) == 0}, (*rights.Grant)(nil)
		if !request.All {
			request.Grant, only = grants[0], &grants[0]
		}
		if err := book.MayRevoke(by, p, only); err != nil {
			return nil, err
		}
		next, _ := book.Revoke(p, only, 0, "")
		return request, c.keepsAdmin(next)
	case m.Verb == protocol.AccessCreateToken && p.Kind == rights.Token && len(m.Hash) == protocol.MaxHashBytes:
		return &meta.AccessTokenCreate{Checked: checked, Name: p.Name, Hash: [32]byte(m.Hash), Expires: m.ExpiresMillis,
			Grants: grants}, book.MayCreate(by, grants)
	case m.Verb == protocol.AccessRevokeToken && p.Kind == rights.Token:
		next, _ := book.RevokeToken(p.Name)
		if err := c.keepsAdmin(next); err != nil {
			return nil, err
		}
		return &meta.AccessTokenRevoke{Checked: checked, Name: p.Name}, book.MayRevoke(by, p, nil)
	}
	return nil, errors.New("no change of rights, or one that lacks what it is about")
}

// keepsAdmin reports why a change is not made that would take from the client that makes it the right to change rights
// on /: that is a slip, and none might be left who could undo it. A client that has another right is not asked.
func (c *conn) keepsAdmin(next *rights.Book) error {
	k, is := c.rights.(*kept)
	if !is || !c.giver().Administers("/") || !next.Decided() || next.Set(k.who...).Administers("/") {
		return nil
	}
	return &rights.Refusal{Status: protocol.StatusPreconditionFailed, Text: "after this you could not change rights " +
		"any more: do it with a token that has the role admin or root on / by itself"}
}

func rulesOf(list *protocol.AccessRules) (rules []rights.Rule) {
	for r := range list.All() {
		rules = append(rules, rights.Rule{Path: string(r.Path), Object: string(r.Object),
			Rights: protocol.Right(min(r.Rights, 1<<15))})
	}
	return rules
}

func grantsOf(list *protocol.AccessGrants) (grants []rights.Grant) {
	for g := range list.All() {
		grants = append(grants, rights.Grant{Role: string(g.Role), Path: string(g.Path), Object: string(g.Object)})
	}
	return grants
}
