package access

import (
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/access"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/shard/access"
	"github.com/signalbox/signalbox/shard/meta"
)

// change changes the cluster's access rules. The meta shard leader decides here whether the client may make the
// change; the command names the rights the decision relied on.
func (h handlers) change(r *handle.Request) (handle.Reply, error) {
	m := &r.AccessChange
	if err := h.LeadsMeta(); err != nil {
		return nil, err
	}
	request, err := request(r.Caller, m, h.Meta.Rights())
	var refused *access.Refusal
	switch {
	case errors.As(err, &refused):
		if refused.Status == protocol.StatusUnauthorized {
			r.Caller.Denied(r.From(), r.Kind, "", "")
		}
		return nil, handle.Refuse(refused.Status, refused.Text)
	case err != nil:
		return nil, handle.BadRequest(err.Error())
	}
	return h.MetaChange(r.Kind, meta.NewCommand(request, h.Origin(r, &m.Operation)), &m.Idempotency,
		func(e *meta.Effect, since uint64) protocol.AnswerMessage {
			return &protocol.AccessChangeAnswer{Existed: handle.Existed(e), Since: since}
		})
}

// request returns the command for a change, or an error if the client may not make the change.
func request(client *caller.Caller, m *protocol.AccessChange, book *access.Book) (meta.Request, error) {
	by, checked := client.Giver(), meta.Checked(book.Revision())
	role, rules, grants := string(m.Role), m.Rules, m.Grants
	if m.Action != protocol.AccessRevokeRole {
		if err := checkPlaces(rules, grants); err != nil {
			return nil, err
		}
	}
	switch m.Action {
	case protocol.AccessSetRole:
		if err := book.MaySetRole(by, role, rules); err != nil {
			return nil, err
		}
		next, _ := book.SetRole(role, rules)
		return &meta.AccessRoleSet{Checked: checked, Name: role, Rules: rules}, client.KeepsAdmin(next)
	case protocol.AccessDeleteRole:
		return &meta.AccessRoleDelete{Checked: checked, Name: role}, book.MaySetRole(by, role, nil)
	case protocol.AccessImport:
		return importRequest(client, m, book)
	}
	p, err := kind.ParseIdentity(string(m.Principal))
	if err != nil {
		return nil, err
	}
	switch {
	case m.Action == protocol.AccessGrantRole && len(grants) == 1:
		if err := book.MayGrant(by, grants[0]); err != nil {
			return nil, err
		}
		next, _ := book.Grant(p, grants[0], 0, "")
		return &meta.AccessGrant{Checked: checked, Principal: p, Grant: grants[0]}, client.KeepsAdmin(next)
	case m.Action == protocol.AccessRevokeRole && len(grants) <= 1:
		request, only := &meta.AccessRevoke{Checked: checked, Principal: p, All: len(grants) == 0}, (*kind.Grant)(nil)
		if !request.All {
			request.Grant, only = grants[0], &grants[0]
		}
		if err := book.MayRevoke(by, p, only); err != nil {
			return nil, err
		}
		next, _ := book.Revoke(p, only)
		return request, client.KeepsAdmin(next)
	case m.Action == protocol.AccessCreateToken && p.Kind == kind.Token && len(m.Hash) == protocol.MaxHashBytes:
		if err := book.MayCreate(by, grants); err != nil {
			return nil, err
		}
		hash := [32]byte(m.Hash)
		next, _ := book.CreateToken(p.Name, hash, m.ExpiresMillis, grants, 0, "")
		return &meta.AccessTokenCreate{Checked: checked, Name: p.Name, Hash: hash, Expires: m.ExpiresMillis,
			Grants: grants}, client.KeepsAdmin(next)
	case m.Action == protocol.AccessRevokeToken && p.Kind == kind.Token:
		next, _ := book.RevokeToken(p.Name)
		if err := client.KeepsAdmin(next); err != nil {
			return nil, err
		}
		return &meta.AccessTokenRevoke{Checked: checked, Name: p.Name}, book.MayRevoke(by, p, nil)
	}
	return nil, errors.New("the access change is unknown or incomplete")
}

// importRequest is request for an import.
func importRequest(client *caller.Caller, m *protocol.AccessChange, book *access.Book) (meta.Request, error) {
	if err := access.MayImport(client.Giver()); err != nil {
		return nil, err
	}
	rules := kind.Rules{Roles: m.Roles, Principals: m.Principals}
	if err := CheckPlaces(rules); err != nil {
		return nil, err
	}
	entries, err := access.Entries(m.Principals)
	if err != nil {
		return nil, err
	}
	next, err := book.Import(m.Roles, entries, 0, "")
	if err != nil {
		return nil, err
	}
	return &meta.AccessImport{Checked: meta.Checked(book.Revision()), Roles: m.Roles, Entries: entries},
		client.KeepsAdmin(next)
}

// CheckPlaces refuses rules whose path can never be a node.
func CheckPlaces(rules kind.Rules) error {
	for _, r := range rules.Roles {
		if err := checkPlaces(r.Rules, nil); err != nil {
			return fmt.Errorf("the role %s: %w", r.Name, err)
		}
	}
	for _, p := range rules.Principals {
		if err := checkPlaces(nil, p.Grants); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return nil
}

// checkPlaces refuses rights whose path can never be a node.
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
