package meta

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/access"
	"github.com/signalbox/signalbox/shard/access"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/machine"
)

var ci = access.Principal{Kind: access.Token, Name: "ci"}

func tokenOf(name string, grants ...access.Grant) *AccessTokenCreate {
	return &AccessTokenCreate{Name: name, Hash: [32]byte{1, byte(len(name)), name[0]}, Grants: grants}
}

// everyAccess has one access request per kind, with distinct values in every field.
func everyAccess() []Request {
	grant := kind.Grant{Role: "write", Path: "/prod", Object: "nightly-"}
	return []Request{
		&AccessGrant{Checked: 1, Principal: access.Principal{Kind: 200, Name: "a\x00"}, Grant: grant},
		&AccessRevoke{Checked: 2, Principal: ci, All: true, Grant: grant},
		&AccessRoleSet{Checked: 3, Name: "r", Rules: []kind.Rule{{Path: "x", Object: "o", Rights: 1<<16 - 1}, {}}},
		&AccessRoleDelete{Checked: 4, Name: "r"},
		&AccessTokenCreate{Checked: 5, Name: "t", Hash: [32]byte{1, 31: 2}, Expires: 6,
			Grants: []kind.Grant{grant, {}}},
		&AccessTokenRevoke{Checked: 7, Name: "t"},
	}
}

// anImport is an import with every field set.
func anImport() Request {
	return &AccessImport{Checked: 8, First: true,
		Roles: []kind.Role{{Name: "r", Rules: []kind.Rule{{Path: "x", Object: "o", Rights: 1<<16 - 1}, {}}}},
		Entries: []access.Entry{{Principal: ci, Hash: [32]byte{1, 31: 2}, Expires: 9,
			Grants: []kind.Grant{{Role: "read", Path: "/"}}}, {Principal: access.Principal{Kind: 200, Name: "a\x00"}}}}
}

func TestRightsAreKeptAndWrittenDown(t *testing.T) {
	c := withHosts(t, "a")
	if c.Rights().Revision() != 0 {
		t.Fatal("something was said about rights")
	}
	jobs := kind.Grant{Role: kind.RoleWrite, Path: "/prod/jobs"}
	c.done(tokenOf("ci", jobs))
	c.existed(tokenOf("ci", jobs))
	c.done(&AccessRoleSet{Name: "deploy",
		Rules: []kind.Rule{{Path: "/", Object: "d-", Rights: protocol.RightOperate}}})
	deploy := kind.Grant{Role: "deploy", Path: "/prod"}
	c.done(&AccessGrant{Principal: ci, Grant: deploy})
	c.existed(&AccessGrant{Principal: ci, Grant: deploy})
	set := c.Rights().Set(ci)
	if !set.Allows("/prod/jobs", "x", protocol.RightWrite) || !set.Allows("/prod/x", "d-1", protocol.RightOperate) ||
		set.Allows("/prod/x", "e", protocol.RightOperate) {
		t.Errorf("ci has %v", set)
	}
	c.refused(protocol.StatusPreconditionFailed, "token:ci has the role deploy on /prod: revoke the role first",
		&AccessRoleDelete{Name: "deploy"})
	c.refused(protocol.StatusNotFound, "there is no token xx",
		&AccessGrant{Principal: access.Principal{Kind: access.Token, Name: "xx"}, Grant: jobs})
	c.refused(protocol.StatusBadRequest, "the byte 0xff",
		&AccessGrant{Principal: ci, Grant: kind.Grant{Role: "read", Path: "/a\xff"}})
	c.done(&AccessRevoke{Principal: ci, All: true})
	c.existed(&AccessRevoke{Principal: ci, All: true})
	c.done(&AccessRoleDelete{Name: "deploy"})
	c.done(&AccessTokenRevoke{Name: "ci"})
	c.existed(&AccessTokenRevoke{Name: "ci"})
	var said []string
	for _, e := range c.records().Audit(1, 100) {
		if e.Event == hosts.EventAccess {
			said = append(said, e.Text+", by "+e.By+": "+e.Why)
		}
	}
	want := []string{"the token ci was made", "the role deploy has 1 rules now",
		"token:ci got the role deploy on /prod",
		"token:ci lost all roles", "the role deploy was deleted", "the token ci was revoked"}
	for i := range want {
		want[i] += ", by op: a test"
	}
	if !slices.Equal(said, want) {
		t.Errorf("the audit history has\n%s", strings.Join(said, "\n"))
	}
}

// TestAChangeOfRightsIsOfTheRightsThatWereLookedAt: the permission was decided by the rules at the time, and may be
// outdated.
func TestAChangeOfRightsIsOfTheRightsThatWereLookedAt(t *testing.T) {
	c := withHosts(t, "a")
	c.done(tokenOf("ci"))
	at := Checked(c.Rights().Revision())
	c.done(&AccessGrant{Checked: at, Principal: ci, Grant: kind.Grant{Role: "read", Path: "/"}})
	c.refused(protocol.StatusOverloaded, "the rights were changed at the same time",
		&AccessGrant{Checked: at, Principal: ci, Grant: kind.Grant{Role: "write", Path: "/"}})
}

func TestRightsSurviveASnapshotAndARegeneration(t *testing.T) {
	c := withHosts(t, "a")
	for i := range 2000 { // more than a block
		c.done(tokenOf(fmt.Sprint("token-", i), kind.Grant{Role: "read", Path: "/a-rather-long-path"}).hash(i))
	}
	restored, err := c.copied()
	if err != nil {
		t.Fatal(err)
	}
	if restored.Digest() != c.Digest() || !bytes.Equal(restored.Rights().Save(nil), c.Rights().Save(nil)) {
		t.Error("the rights are others")
	}
	next, err := c.Regenerate(Regeneration{Draw: [16]byte{1}, Jump: machine.Jump{Others: 1000},
		First: hosts.InitialMember{Name: "x", Incarnation: incarnation(9), Addresses: addressesOf("x"),
			Level: c.Level()}})
	if err != nil || len(next.Rights().Records()) != 2000 {
		t.Errorf("%v: the rights are not those of the old cluster", err)
	}
}

func (atc *AccessTokenCreate) hash(i int) *AccessTokenCreate {
	atc.Hash = [32]byte{byte(i), byte(i >> 8), 7}
	return atc
}

func TestRightsThatWereNeverSavedAreNotRestored(t *testing.T) {
	c := withHosts(t, "a")
	c.done(tokenOf("ci"))
	l := loader{content: newContent(), pieces: pieces{rights: c.Rights().Save(nil)}}
	if err := l.completeRights(); err != nil || len(l.rights.Records()) != 1 {
		t.Errorf("%v", err)
	}
	l.pieces.rights[len(l.pieces.rights)-1]++
	if err := l.completeRights(); err == nil {
		t.Error("they were restored")
	}
	if _, err := access.Load([]byte{9}); err == nil || errors.Unwrap(err) == nil {
		t.Errorf("a later form: %v", err)
	}
}

// access executes an access request by package access's rules.
func (tt *topologyTwin) access(at hosts.At, r Request) hosts.Answer {
	checked, what := Checked(0), ""
	next, err := tt.rights, error(nil)
	switch r := r.(type) {
	case *AccessGrant:
		checked, what = r.Checked, fmt.Sprintf("%v got the role %v", r.Principal, r.Grant)
		next, err = tt.rights.Grant(r.Principal, r.Grant, at.Wall, at.By)
	case *AccessRevoke:
		checked, what = r.Checked, fmt.Sprintf("%v lost the role %v", r.Principal, r.Grant)
		grant := &r.Grant
		if r.All {
			grant, what = nil, fmt.Sprintf("%v lost all roles", r.Principal)
		}
		next, err = tt.rights.Revoke(r.Principal, grant)
	case *AccessRoleSet:
		checked, what = r.Checked, fmt.Sprintf("the role %s has %d rules now", r.Name, len(r.Rules))
		next, err = tt.rights.SetRole(r.Name, r.Rules)
	case *AccessRoleDelete:
		checked, what = r.Checked, "the role "+r.Name+" was deleted"
		next, err = tt.rights.DeleteRole(r.Name)
	case *AccessTokenCreate:
		checked, what = r.Checked, "the token "+r.Name+" was made"
		next, err = tt.rights.CreateToken(r.Name, r.Hash, r.Expires, r.Grants, at.Wall, at.By)
	case *AccessTokenRevoke:
		checked, what = r.Checked, "the token "+r.Name+" was revoked"
		next, err = tt.rights.RevokeToken(r.Name)
	case *AccessImport:
		checked = r.Checked
		what = fmt.Sprintf("%d roles and %d principals were imported", len(r.Roles), len(r.Entries))
		if next, err = tt.rights.Import(r.Roles, r.Entries, at.Wall, at.By); r.First && tt.rights.Revision() != 0 {
			checked, next, err = 0, tt.rights, nil
		}
	}
	var refused *access.Refusal
	switch {
	case checked != 0 && uint64(checked) != tt.rights.Revision():
		return hosts.Answer{Status: protocol.StatusOverloaded}
	case errors.As(err, &refused):
		return hosts.Answer{Status: refused.Status}
	case next == tt.rights:
		return hosts.Answer{Existed: true}
	}
	tt.rights = next
	tt.records.Note(at, hosts.EventAccess, what)
	return hosts.Answer{}
}

func (*topologyTwin) asksForRights(r Request) bool {
	return kindOf(r) >= CmdAccessGrant && kindOf(r) <= CmdAccessTokenRevoke || kindOf(r) == CmdAccessImport
}

// access makes a request about rights.
func (f *fleet) access() Request {
	checked := Checked(0)
	if f.IntN(2) == 0 {
		checked = Checked(f.Rights().Revision() - f.Uint64N(min(2, f.Rights().Revision()+1)))
	}
	role := func() string { return []string{"read", "write", "admin", "root", "r1", "r2"}[f.IntN(6)] }
	grant := kind.Grant{Role: role(), Path: []string{"/", "/a", "/a/b", "bad"}[f.IntN(4)],
		Object: []string{"", "", "n"}[f.IntN(3)]}
	p := access.Principal{Kind: kind.Kind(1 + f.IntN(4)), Name: f.ref()}
	if p.Kind == access.Anonymous {
		p.Name = ""
	}
	switch f.IntN(9) {
	case 0, 1, 2:
		return &AccessGrant{checked, p, grant}
	case 3:
		if list := f.Rights().Records(); len(list) > 0 && f.IntN(2) == 0 {
			p = list[f.IntN(len(list))].Principal
		}
		return &AccessRevoke{checked, p, f.IntN(2) == 0, grant}
	case 4:
		name := []string{"r1", "r2", "read"}[f.IntN(3)]
		return &AccessRoleSet{checked, name, []kind.Rule{{Path: "/", Rights: 1 << f.IntN(8)}}}
	case 5:
		return &AccessRoleDelete{checked, []string{"r1", "r2", "read"}[f.IntN(3)]}
	case 6:
		t := tokenOf(f.ref(), grant)
		t.Checked = checked
		return t
	}
	if f.IntN(2) == 0 {
		token := access.Principal{Kind: access.Token, Name: f.ref()}
		return &AccessImport{checked, f.IntN(3) == 0, nil, []access.Entry{{Principal: token, Hash: [32]byte{9},
			Grants: []kind.Grant{grant}}}}
	}
	return &AccessTokenRevoke{checked, f.ref()}
}
