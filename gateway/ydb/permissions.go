package ydb

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Scheme"

	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/access"
)

// eraseRole is a role with the right to delete semaphores, and no more rights: no built-in role is so narrow.
const eraseRole = "ydb-erase"

// roles maps YDB permission names, without the prefix "ydb.", to roles.
var roles = map[string][]string{
	"granular.select_row": {"read"},
	"granular.update_row": {"write"},
	"granular.erase_row":  {eraseRole},
	"generic.read":        {"read"},
	"generic.write":       {"write", eraseRole},
	"generic.use":         {"write", eraseRole},
	"generic.manage":      {"admin"},
	"generic.full":        {"admin"},
}

// ModifyPermissions grants and revokes roles at a path: the roles hold below the path as well, as in YDB.
func (g *Gateway) ModifyPermissions(
	ctx context.Context, r *Ydb_Scheme.ModifyPermissionsRequest,
) (*Ydb_Scheme.ModifyPermissionsResponse, error) {
	err := g.onNode(ctx, r, func(ctx context.Context, t *ticket, path string) error {
		if r.GetInterruptInheritance() {
			return &failed{Ydb.StatusIds_UNSUPPORTED, "rights of the paths above always hold"}
		}
		p := permissions{path: path, admin: admin.New(t.client)}
		if r.ClearPermissions {
			if err := p.clear(ctx, "", nil); err != nil {
				return err
			}
		}
		for _, a := range r.Actions {
			if err := p.act(ctx, a); err != nil {
				return err
			}
		}
		return nil
	})
	return &Ydb_Scheme.ModifyPermissionsResponse{Operation: operation(nil, err)}, nil
}

// permissions changes the grants at a path.
type permissions struct {
	path  string
	admin *admin.Admin
}

// by appears in the cluster's audit log with the token name.
var by = admin.ChangeInfo{Reason: "ModifyPermissions of a program on YDB's SDK"}

// act carries a single action out.
func (p *permissions) act(ctx context.Context, a *Ydb_Scheme.PermissionsAction) error {
	of := cmp.Or(a.GetGrant(), a.GetRevoke(), a.GetSet())
	if of == nil {
		return &failed{Ydb.StatusIds_UNSUPPORTED, "nodes have no owners"}
	}
	names, err := rolesOf(of.PermissionNames)
	if err != nil {
		return err
	}
	subject := principalOf(of.Subject)
	if a.GetSet() != nil {
		if err := p.clear(ctx, subject, names); err != nil {
			return err
		}
	}
	for _, role := range names {
		if a.GetRevoke() != nil {
			_, err = p.admin.Revoke(ctx, subject, &admin.Grant{Role: role, Path: p.path}, by)
		} else {
			err = p.grant(ctx, subject, role)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// grant grants a role, and makes a missing role for deleting.
func (p *permissions) grant(ctx context.Context, subject, role string) error {
	g := admin.Grant{Role: role, Path: p.path}
	_, err := p.admin.Grant(ctx, subject, g, by)
	if role != eraseRole || !errors.Is(err, protocol.ErrNotFound) {
		return err
	}
	rule := admin.Rule{Path: "/", Rights: access.Delete}
	if _, err := p.admin.SetRole(ctx, admin.AccessRole{Name: role, Rules: []admin.Rule{rule}}, by); err != nil {
		return err
	}
	_, err = p.admin.Grant(ctx, subject, g, by)
	return err
}

// clear revokes the roles granted at the path, with exceptions: one principal's, or all principals' if subject is "".
func (p *permissions) clear(ctx context.Context, subject string, but []string) error {
	all, _, err := p.admin.Principals(ctx)
	if err != nil {
		return err
	}
	for _, of := range all {
		for _, g := range of.Grants {
			if subject != "" && of.Name != subject || g.Path != p.path || slices.Contains(but, g.Role) {
				continue
			}
			if _, err := p.admin.Revoke(ctx, of.Name, &g, by); err != nil {
				return err
			}
		}
	}
	return nil
}

// principalOf returns the principal for a YDB subject: a token with the subject's name, unless the subject names
// another principal kind.
func principalOf(subject string) string {
	if subject == "anonymous" || strings.Contains(subject, ":") {
		return subject
	}
	return "token:" + subject
}

// rolesOf returns the roles for permission names, without duplicates.
func rolesOf(names []string) (list []string, err error) {
	for _, name := range names {
		short := strings.ReplaceAll(strings.TrimPrefix(strings.ToLower(name), "ydb."), "-", "_")
		of, known := roles[short]
		if !known {
			return nil, &failed{Ydb.StatusIds_BAD_REQUEST, name + " is no permission here"}
		}
		list = append(list, of...)
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}
