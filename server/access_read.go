package server

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/rights"
)

// accessList answers with a page of the roles that were made, or of the principals, as far as the client gives rights
// where they have some.
func (c *conn) accessList(r *protocol.Request) {
	if !c.authorize(r, "", "") {
		return
	}
	m := r.AccessList
	roles, after, limit, id := m.Roles, string(m.After), itemLimit(m.Limit), r.ID
	c.confirmMeta(r, func() {
		book := c.host.meta.Rights()
		a := &protocol.AccessListAnswer{Decided: book.Decided()}
		if roles {
			listRoles(a, book, after, limit)
		} else {
			c.listPrincipals(a, book, after, limit)
		}
		c.Answer(id, a)
	})
}

func listRoles(a *protocol.AccessListAnswer, book *rights.Book, after string, limit int) {
	for _, role := range book.Roles() {
		switch {
		case role.Name <= after:
		case a.Roles.Len() == limit || a.Roles.Size() >= protocol.PageBytes:
			return
		default:
			a.Roles.Append(protocol.AccessRole{Name: []byte(role.Name), Rules: wireRules(role.Rules)})
			a.Next = []byte(role.Name)
		}
	}
	a.Next = nil
}

func (c *conn) listPrincipals(a *protocol.AccessListAnswer, book *rights.Book, after string, limit int) {
	by, passed := c.giver(), after == ""
	from, err := rights.ParsePrincipal(after)
	for _, record := range book.Records() {
		switch {
		case !passed && (err != nil || record.Principal.Compare(from) <= 0):
		case a.Principals.Len() == limit || a.Principals.Size() >= protocol.PageBytes:
			return
		case book.Shown(by, record):
			a.Principals.Append(protocol.AccessPrincipal{
				Principal: []byte(record.Principal.String()), ExpiresMillis: record.Expires,
				CreatedMillis: record.Created, By: []byte(record.By), Grants: wireGrants(record.Grants),
			})
			a.Next = []byte(record.Principal.String())
		}
	}
	a.Next = nil
}

// accessAsk answers who may do something, with the rule that decides.
func (c *conn) accessAsk(r *protocol.Request) {
	m := &r.AccessAsk
	path := string(m.Path)
	if path == "" {
		path = "/"
	}
	if !c.authorize(r, path, "") {
		return
	}
	object, need, id := string(m.Object), protocol.Right(m.Right)&protocol.RightAll, r.ID
	var only []rights.Principal
	if len(m.Principal) > 0 {
		p, err := rights.ParsePrincipal(string(m.Principal))
		if err != nil {
			c.failure(r, protocol.StatusBadRequest, err.Error())
			return
		}
		only = append(only, p)
	}
	c.confirmMeta(r, func() {
		c.Answer(id, decisions(c.host.meta.Rights(), only, path, object, need))
	})
}

// decisions are those of one principal, which is anybody too, or of all that may do it.
func decisions(book *rights.Book, only []rights.Principal, path, object string,
	need protocol.Right) *protocol.AccessAskAnswer {
	var list []rights.Origin
	if len(only) > 0 {
		if o, ok := book.Set(append(only, rights.Principal{Kind: rights.Anonymous})...).Decide(path, object, need); ok {
			list = append(list, o)
		}
	} else {
		list = book.Holders(path, object, need)
	}
	a := &protocol.AccessAskAnswer{}
	for _, o := range list {
		if a.More = a.Decisions.Len() == protocol.MaxPageItems || a.Decisions.Size() >= protocol.PageBytes; a.More {
			break
		}
		a.Decisions.Append(protocol.AccessDecision{Principal: []byte(o.Principal.String()), Grant: wireGrant(o.Grant),
			Rule: wireRule(o.Rule)})
	}
	return a
}

func wireGrant(g rights.Grant) protocol.AccessGrant {
	return protocol.AccessGrant{Role: []byte(g.Role), Path: []byte(g.Path), Object: []byte(g.Object)}
}

func wireGrants(grants []rights.Grant) (list protocol.AccessGrants) {
	for _, g := range grants {
		list.Append(wireGrant(g))
	}
	return list
}

func wireRule(r rights.Rule) protocol.AccessRule {
	return protocol.AccessRule{Path: []byte(r.Path), Object: []byte(r.Object), Rights: uint64(r.Rights)}
}

func wireRules(rules []rights.Rule) (list protocol.AccessRules) {
	for _, r := range rules {
		list.Append(wireRule(r))
	}
	return list
}
