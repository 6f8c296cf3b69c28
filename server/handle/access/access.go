// Package access implements the handlers for access control requests.
package access

import (
	"cmp"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/access"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/shard/access"
)

// Handlers returns the handlers.
func Handlers(h *handle.Host) handle.Table {
	a := handlers{h}
	return handle.Table{
		protocol.KindAccessChange:  handle.Authorized(handle.Somewhere, a.change),
		protocol.KindAccessList:    handle.Authorized(handle.Somewhere, a.list),
		protocol.KindAccessCheck:   a.ask,
		protocol.KindAccessDenials: handle.Authorized(handle.Somewhere, a.denials),
	}
}

type handlers struct{ *handle.Host }

// list answers with a page of created roles or principals. A principal is shown only as far as the client administers
// its rights.
func (h handlers) list(r *handle.Request) (handle.Reply, error) {
	m, by := &r.AccessList, r.Caller
	roles, export, after, limit := m.Roles, m.Export, string(m.After), handle.ItemLimit(m.Limit)
	if export {
		if err := access.MayImport(by.Giver()); err != nil {
			by.Denied(r.From(), r.Kind, "/", "")
			return nil, handle.Refuse(protocol.StatusUnauthorized, err.Error())
		}
	}
	return h.ConfirmMeta(func() (handle.Reply, error) {
		book := h.Meta.Rights()
		view := (*access.Record).View
		if export {
			view = book.Export
		}
		a := &protocol.AccessListAnswer{Open: h.Gate.Open(book)}
		if roles {
			listRoles(a, book, after, limit)
		} else {
			listPrincipals(by.Giver(), a, book, after, limit, view)
		}
		return a, nil
	}), nil
}

func listRoles(a *protocol.AccessListAnswer, book *access.Book, after string, limit int) {
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

func listPrincipals(by *access.Set, a *protocol.AccessListAnswer, book *access.Book, after string, limit int,
	view func(*access.Record) kind.Principal) {
	passed, size := after == "", 0
	from, err := kind.ParseIdentity(after)
	for _, record := range book.Records() {
		switch {
		case !passed && (err != nil || record.Principal.Compare(from) <= 0):
		case len(a.Principals) == limit || size >= protocol.PageBytes:
			return
		case book.Shown(by, record):
			shown := view(record)
			a.Principals, a.Next = append(a.Principals, shown), []byte(shown.Name)
			size += protocol.Size(&shown)
		}
	}
	a.Next = nil
}

// ask answers which principals may send a request, with the deciding rules.
func (h handlers) ask(r *handle.Request) (handle.Reply, error) {
	m := &r.AccessCheck
	path := cmp.Or(string(m.Path), "/")
	if err := handle.Authorize(r, path, ""); err != nil {
		return nil, err
	}
	object, need := string(m.Object), m.Right&protocol.RightAll
	var only []kind.Identity
	if len(m.Principal) > 0 {
		p, err := kind.ParseIdentity(string(m.Principal))
		if err != nil {
			return nil, handle.BadRequest(err.Error())
		}
		only = append(only, p)
	}
	return h.ConfirmMeta(func() (handle.Reply, error) {
		return decisions(h.Meta.Rights(), only, path, object, need), nil
	}), nil
}

// decisions returns the decision for one principal, including rights granted to anonymous clients, or the decisions
// for all principals with the right.
func decisions(book *access.Book, only []kind.Identity, path, object string,
	need protocol.Right) *protocol.AccessCheckAnswer {
	var list []access.Origin
	if len(only) > 0 {
		if o, ok := book.Set(append(only, kind.Identity{Kind: kind.Anonymous})...).Decide(path, object, need); ok {
			list = append(list, o)
		}
	} else {
		list = book.Holders(path, object, need)
	}
	a, size := &protocol.AccessCheckAnswer{}, 0
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

// denials answers with the host's latest refusals, in nodes for which the client may grant rights.
func (h handlers) denials(r *handle.Request) (handle.Reply, error) {
	limit := handle.ItemLimit(r.AccessDenials.Limit)
	list, total := h.Gate.Denials()
	a, size := &protocol.AccessDenialsAnswer{HostName: []byte(h.Name), Total: total}, 0
	for i := range list {
		if !r.Caller.Allows(cmp.Or(list[i].Path, "/"), "", protocol.RightAdmin) {
			continue
		}
		a.Denials = append(a.Denials, list[i])
		if size += protocol.Size(&list[i]); len(a.Denials) == limit || size >= protocol.PageBytes {
			break
		}
	}
	return a, nil
}
