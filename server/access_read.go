package server

import (
	"cmp"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/rights"
	"github.com/signalbox/signalbox/shard/rights"
)

// accessList answers with a page of the created roles, or of the principals. Principals are shown only as far as the
// client administers their rights.
func (c *conn) accessList(r *protocol.Request) {
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
	size := 0
	for _, role := range book.Roles() {
		switch {
		case role.Name <= after:
		case len(a.Roles) == limit || size >= protocol.PageBytes:
			return
		default:
			a.Roles, a.Next = append(a.Roles, *role), []byte(role.Name)
			size += protocol.Size(role)
		}
	}
	a.Next = nil
}

func (c *conn) listPrincipals(a *protocol.AccessListAnswer, book *rights.Book, after string, limit int) {
	by, passed, size := c.giver(), after == "", 0
	from, err := kind.ParseIdentity(after)
	for _, record := range book.Records() {
		switch {
		case !passed && (err != nil || record.Principal.Compare(from) <= 0):
		case len(a.Principals) == limit || size >= protocol.PageBytes:
			return
		case book.Shown(by, record):
			shown := record.View()
			a.Principals, a.Next = append(a.Principals, shown), []byte(shown.Name)
			size += protocol.Size(&shown)
		}
	}
	a.Next = nil
}

// accessAsk answers which principals may send a request, with the deciding rules.
func (c *conn) accessAsk(r *protocol.Request) {
	m := &r.AccessAsk
	path := string(m.Path)
	path = cmp.Or(path, "/")
	if !c.authorize(r, path, "") {
		return
	}
	object, need, id := string(m.Object), m.Right&protocol.RightAll, r.ID
	var only []kind.Identity
	if len(m.Principal) > 0 {
		p, err := kind.ParseIdentity(string(m.Principal))
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

// decisions are the decision for one principal, with the rights of anonymous clients added, or the decisions for all
// principals with the right.
func decisions(book *rights.Book, only []kind.Identity, path, object string,
	need protocol.Right) *protocol.AccessAskAnswer {
	var list []rights.Origin
	if len(only) > 0 {
		if o, ok := book.Set(append(only, kind.Identity{Kind: kind.Anonymous})...).Decide(path, object, need); ok {
			list = append(list, o)
		}
	} else {
		list = book.Holders(path, object, need)
	}
	a, size := &protocol.AccessAskAnswer{}, 0
	for _, o := range list {
		if a.More = len(a.Decisions) == protocol.MaxPageItems || size >= protocol.PageBytes; a.More {
			break
		}
		decision := kind.Decision{Principal: o.Principal.String(), Grant: o.Grant, Rule: o.Rule}
		a.Decisions = append(a.Decisions, decision)
		size += protocol.Size(&decision)
	}
	return a
}
