package admin

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/access"
	book "github.com/signalbox/signalbox/shard/access"
)

// imported returns the book after an import.
func imported(t *testing.T, b *book.Book, rules AccessRules) *book.Book {
	t.Helper()
	entries, err := book.Entries(rules.Principals)
	if err != nil {
		t.Fatal(err)
	}
	next, err := b.Import(rules.Roles, entries, 1, "ann")
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func exported(b *book.Book) (rules AccessRules) {
	for _, r := range b.Roles() {
		rules.Roles = append(rules.Roles, *r)
	}
	for _, r := range b.Records() {
		rules.Principals = append(rules.Principals, b.Export(r))
	}
	return rules
}

// TestAnInterruptedImportGivesNoRightOfNeitherRules: between any two changes of an import, a principal's rights are in
// the old rules or in the new rules. Importing the same file again completes the import.
func TestAnInterruptedImportGivesNoRightOfNeitherRules(t *testing.T) {
	role := func(name string, rights access.Right) AccessRole {
		return AccessRole{Name: name, Rules: []Rule{{Path: "/", Rights: rights}}}
	}
	principal := func(name string, roles ...string) Principal {
		p := Principal{Name: name}
		for _, r := range roles {
			p.Grants = append(p.Grants, Grant{Role: r, Path: "/prod"})
		}
		return p
	}
	now := AccessRules{
		Roles: []AccessRole{role("wider", access.Read), role("narrower", access.Delete), role("same", access.Acquire)},
		Principals: []Principal{principal("cn:loses", "wider", "same"), principal("cn:gains", "same"),
			principal("cn:keeps", "wider", "narrower"), principal("cn:other", "same"), principal("anonymous", "wider")},
	}
	next := AccessRules{Roles: []AccessRole{role("wider", access.Read|access.Delete), role("narrower", access.Read)}}
	for i := range 2000 {
		next.Principals = append(next.Principals, principal(fmt.Sprintf("cn:filler-%04d", i), "wider"))
	}
	next.Principals = append(next.Principals, principal("anonymous"), principal("cn:loses", "same"),
		principal("cn:gains", "same", "narrower"), principal("cn:keeps", "wider", "narrower"))
	old := imported(t, book.Empty(), now)
	done := imported(t, old, next)
	parts := importChanges(exported(old), next)
	if len(parts) < 3 {
		t.Fatalf("%d changes", len(parts))
	}
	b := old
	for i, part := range parts {
		b = imported(t, b, AccessRules{Roles: part.Roles, Principals: part.Principals})
		for _, r := range old.Records() {
			for right := protocol.Right(1); right <= protocol.RightAll; right <<= 1 {
				may := func(b *book.Book) bool { return b.Set(r.Principal).Allows("/prod", "x", right) }
				if may(b) && !may(old) && !may(done) {
					t.Errorf("after %d of %d changes %v has the right %v", i+1, len(parts), r.Principal, right)
				}
			}
		}
		again := b
		for _, part := range importChanges(exported(b), next) {
			again = imported(t, again, AccessRules{Roles: part.Roles, Principals: part.Principals})
		}
		if !reflect.DeepEqual(exported(again), exported(done)) {
			t.Errorf("imported again after %d changes, the rules are others", i+1)
		}
	}
	if !reflect.DeepEqual(exported(b), exported(done)) {
		t.Error("the changes do not make the rules of the file")
	}
}
