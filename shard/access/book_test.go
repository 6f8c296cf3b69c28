package access

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/access"
)

// twin is a second book based on maps, written from DESIGN.md.
type twin struct {
	roles    map[string][]Rule
	grants   map[Principal][]Grant
	tokens   map[string]twinToken
	revision uint64
}

type twinToken struct {
	hash    [32]byte
	expires uint64
}

func newTwin() *twin {
	return &twin{roles: map[string][]Rule{}, grants: map[Principal][]Grant{}, tokens: map[string]twinToken{}}
}

func fixedRoles() map[string]protocol.Right {
	return map[string]protocol.Right{"read": 1, "write": 7, "operator": 31, "admin": 63, "root": 255}
}

func (tw *twin) rulesOf(role string) []Rule {
	if rights := fixedRoles()[role]; rights != 0 {
		return []Rule{{Path: "/", Rights: rights}}
	}
	return tw.roles[role]
}

// rules are the rules for the given principals, according to DESIGN.md.
func (tw *twin) rules(who ...Principal) (list []Rule) {
	for _, p := range who {
		for _, g := range tw.grants[p] {
			for _, r := range tw.rulesOf(g.Role) {
				r.Path = strings.ReplaceAll("/"+strings.Trim(g.Path+r.Path, "/"), "//", "/")
				long, short := max(r.Object, g.Object), min(r.Object, g.Object)
				if strings.HasPrefix(long, short) {
					r.Object = long
					list = append(list, r)
				}
			}
		}
	}
	return list
}

// fits reports whether every rule in a role has an effect at the grant's path.
func (tw *twin) fits(g Grant) bool {
	for _, r := range tw.rulesOf(g.Role) {
		long, short := max(r.Object, g.Object), min(r.Object, g.Object)
		if !strings.HasPrefix(long, short) || (g.Path != "/" || r.Path != "/") && r.Rights&(64|128) != 0 ||
			long != "" && r.Rights&(32|64|128) != 0 {
			return false
		}
	}
	return true
}

// change is a change to both books, with its expected result.
type change struct {
	what  string
	book  func(*Book) (*Book, error)
	twin  func(*twin) protocol.Status // expected status, success even without a change
	moves func(*twin) bool            // reports whether the change has an effect
}

func (d drawer) change(w *twin) change {
	role := d.of("read", "write", "admin", "root", "r1", "r2", "r3")
	p := Principal{Kind: kind.Kind(1 + d.IntN(4)), Name: d.of("a", "b", "c")}
	if p.Kind == Anonymous {
		p.Name = ""
	}
	g := Grant{Role: role, Path: d.path(), Object: d.of("", "", "n", "ni")}
	switch d.IntN(9) {
	case 0, 1, 2:
		return w.grantChange(p, g)
	case 3:
		return w.revokeChange(p, g, d.IntN(2) == 0)
	case 4:
		return w.roleChange(role, []Rule{{Path: d.of("/", "/x"), Object: d.of("", "", "nig"), Rights: 1 << d.IntN(9)}})
	case 5:
		return w.deleteChange(role)
	case 6:
		return w.tokenChange(d.of("a", "b", "c"), [32]byte{byte(1 + d.IntN(4))}, d.Uint64N(2), g)
	case 7:
		return w.importChange(d.of("r1", "r2"), d.of("a", "b", "c"), [32]byte{byte(1 + d.IntN(4))}, g)
	}
	name := d.of("a", "b", "c")
	_, there := w.tokens[name]
	return change{"token-revoke " + name, func(b *Book) (*Book, error) { return b.RevokeToken(name) },
		func(w *twin) protocol.Status {
			delete(w.tokens, name)
			delete(w.grants, Principal{Kind: Token, Name: name})
			return 0
		}, func(*twin) bool { return there }}
}

func (tw *twin) grantChange(p Principal, g Grant) change {
	return change{fmt.Sprint("grant ", p, g), func(b *Book) (*Book, error) { return b.Grant(p, g, 5, "op") },
		func(tw *twin) protocol.Status {
			_, token := tw.tokens[p.Name]
			switch {
			case tw.rulesOf(g.Role) == nil, p.Kind == Token && !token && tw.fits(g):
				return protocol.StatusNotFound
			case !tw.fits(g):
				return protocol.StatusBadRequest
			case len(tw.grants[p]) >= kind.MaxGrants:
				return protocol.StatusPreconditionFailed
			case !slices.Contains(tw.grants[p], g):
				tw.grants[p] = append(slices.Clip(tw.grants[p]), g)
			}
			return 0
		}, func(tw *twin) bool { return !slices.Contains(tw.grants[p], g) }}
}

func (tw *twin) revokeChange(p Principal, g Grant, all bool) change {
	only := &g
	if all {
		only = nil
	}
	return change{fmt.Sprint("revoke ", p, g, all), func(b *Book) (*Book, error) { return b.Revoke(p, only) },
		func(tw *twin) protocol.Status {
			tw.grants[p] = slices.DeleteFunc(slices.Clone(tw.grants[p]), func(h Grant) bool { return all || h == g })
			return 0
		}, func(tw *twin) bool {
			return all && len(tw.grants[p]) > 0 || slices.Contains(tw.grants[p], g)
		}}
}

func (tw *twin) roleChange(role string, rules []Rule) change {
	return change{fmt.Sprint("role ", role, rules), func(b *Book) (*Book, error) { return b.SetRole(role, rules) },
		func(tw *twin) protocol.Status {
			r := rules[0]
			if fixedRoles()[role] != 0 || r.Rights > 255 || r.Path != "/" && r.Rights >= 64 ||
				r.Object != "" && r.Rights >= 32 {
				return protocol.StatusBadRequest
			}
			tw.roles[role] = rules
			return 0
		}, func(tw *twin) bool { return !slices.Equal(tw.roles[role], rules) }}
}

func (tw *twin) deleteChange(role string) change {
	return change{"role-delete " + role, func(b *Book) (*Book, error) { return b.DeleteRole(role) },
		func(tw *twin) protocol.Status {
			if fixedRoles()[role] != 0 {
				return protocol.StatusBadRequest
			}
			for _, list := range tw.grants {
				if slices.ContainsFunc(list, func(g Grant) bool { return g.Role == role }) {
					return protocol.StatusPreconditionFailed
				}
			}
			delete(tw.roles, role)
			return 0
		}, func(tw *twin) bool { return tw.roles[role] != nil }}
}

func (tw *twin) tokenChange(name string, hash [32]byte, expires uint64, g Grant) change {
	before, there := tw.tokens[name]
	who := Principal{Kind: Token, Name: name}
	same := there && before == twinToken{hash, expires} && slices.Equal(tw.grants[who], []Grant{g})
	return change{fmt.Sprint("token ", name, hash[0], expires, g), func(b *Book) (*Book, error) {
		return b.CreateToken(name, hash, expires, []Grant{g}, 5, "op")
	}, func(tw *twin) protocol.Status {
		for other, t := range tw.tokens {
			if t.hash == hash && other != name {
				return protocol.StatusAlreadyExists
			}
		}
		switch {
		case same:
			return 0
		case there:
			return protocol.StatusAlreadyExists
		case tw.rulesOf(g.Role) == nil:
			return protocol.StatusNotFound
		case !tw.fits(g):
			return protocol.StatusBadRequest
		}
		tw.tokens[name], tw.grants[who] = twinToken{hash, expires}, []Grant{g}
		return 0
	}, func(*twin) bool { return !same }}
}

// importChange imports a role, a token, and anonymous with one grant.
func (tw *twin) importChange(role, name string, hash [32]byte, g Grant) change {
	token, anonymous := Principal{Kind: Token, Name: name}, Principal{Kind: Anonymous}
	rules := []Rule{{Path: "/", Rights: protocol.RightWrite}}
	same := slices.Equal(tw.roles[role], rules) && tw.tokens[name] == twinToken{hash: hash} &&
		slices.Equal(tw.grants[token], []Grant{g}) && slices.Equal(tw.grants[anonymous], []Grant{g})
	return change{fmt.Sprint("import ", role, name, hash[0], g), func(b *Book) (*Book, error) {
		return b.Import([]Role{{Name: role, Rules: rules}}, []Entry{
			{Principal: token, Hash: hash, Grants: []Grant{g}}, {Principal: anonymous, Grants: []Grant{g}},
		}, 5, "op")
	}, func(tw *twin) protocol.Status {
		before, had := tw.roles[role]
		tw.roles[role] = rules
		status := protocol.StatusSuccess
		for other, t := range tw.tokens {
			if t.hash == hash && other != name {
				status = protocol.StatusAlreadyExists
			}
		}
		switch {
		case same || status != 0:
		case tw.rulesOf(g.Role) == nil:
			status = protocol.StatusNotFound
		case !tw.fits(g):
			status = protocol.StatusBadRequest
		}
		switch {
		case status == 0:
			tw.tokens[name], tw.grants[token], tw.grants[anonymous] = twinToken{hash: hash}, []Grant{g}, []Grant{g}
		case had:
			tw.roles[role] = before
		default:
			delete(tw.roles, role)
		}
		return status
	}, func(*twin) bool { return !same }}
}

// play applies changes to a book and its twin. A given mistake is applied after each change.
func play(seed uint64, mistake func(before, after *Book) *Book, tally map[string]int) error {
	d, b, w := drawer{rand.New(rand.NewPCG(seed, 9))}, Empty(), newTwin()
	for n := range 300 {
		c := d.change(w)
		moves := c.moves(w)
		want := c.twin(w)
		next, err := c.book(b)
		status := protocol.StatusSuccess
		var refused *Refusal
		if errors.As(err, &refused) {
			status = refused.Status
		}
		if status != want || (next != b) != (want == 0 && moves) {
			return fmt.Errorf("%d: %s: %v, %v, changed %v; want %v, %v", n, c.what, status, err, next != b, want, moves)
		}
		tally[strings.Fields(c.what)[0]+" "+status.String()]++
		if next != b {
			w.revision++
		}
		b = mistake(b, next)
		if err := w.differs(d, b); err != nil {
			return fmt.Errorf("%d: after %s: %w", n, c.what, err)
		}
	}
	return nil
}

func (tw *twin) differs(d drawer, b *Book) error {
	if b.Revision() != tw.revision || b.Open() != (tw.revision == 0) || len(b.tokens) != len(tw.tokens) {
		return fmt.Errorf("revision %d, open %v, %d tokens; want %+v", b.revision, b.Open(), len(b.tokens), tw)
	}
	who := []Principal{{Kind: Token, Name: d.of("a", "b")}, {Kind: CommonName, Name: "a"}, {Kind: AltName, Name: "b"},
		{Kind: Anonymous}}[d.IntN(4):]
	for range 8 {
		path, object, need := d.path(), d.object(), protocol.Right(1<<d.IntN(8))
		want := naive(tw.rules(who...), path, object, need)
		if got := b.Set(who...).Allows(path, object, need); got != want {
			return fmt.Errorf("%v may %v %s %q: %v", who, need, path, object, got)
		}
	}
	var holders []Principal
	for _, o := range b.Holders("/a", "n", protocol.RightRead) {
		holders = append(holders, o.Principal)
	}
	var should []Principal
	for _, p := range slices.SortedFunc(maps.Keys(tw.grants), Principal.Compare) {
		if naive(tw.rules(p), "/a", "n", protocol.RightRead) {
			should = append(should, p)
		}
	}
	if !slices.Equal(holders, should) {
		return fmt.Errorf("%v may see, want %v", holders, should)
	}
	loaded, err := Load(b.Save(nil))
	if err != nil || !bytes.Equal(loaded.Save(nil), b.Save(nil)) || loaded.bytes != b.bytes ||
		len(loaded.tokens) != len(b.tokens) {
		return fmt.Errorf("saved and loaded it is another one: %v", err)
	}
	return nil
}

func TestABookDoesWhatTheTwinForetells(t *testing.T) {
	tally := map[string]int{}
	for seed := range uint64(80) {
		if err := play(seed, func(_, after *Book) *Book { return after }, tally); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	for _, what := range []string{"grant SUCCESS", "grant NOT_FOUND", "grant BAD_REQUEST", "revoke SUCCESS",
		"role SUCCESS", "role BAD_REQUEST", "role-delete SUCCESS", "role-delete PRECONDITION_FAILED", "token SUCCESS",
		"token ALREADY_EXISTS", "token NOT_FOUND", "token-revoke SUCCESS", "import SUCCESS", "import ALREADY_EXISTS",
		"import NOT_FOUND", "import BAD_REQUEST"} {
		if tally[what] < 20 {
			t.Errorf("%s: %d times", what, tally[what])
		}
	}
}

func TestMistakesInBooksAreNoticed(t *testing.T) {
	for name, mistake := range map[string]func(before, after *Book) *Book{
		"a token is revoked and still lets in": func(before, after *Book) *Book {
			if len(after.tokens) < len(before.tokens) {
				after.tokens = before.tokens
			}
			return after
		},
		"the last grant is lost": func(before, after *Book) *Book {
			for i, r := range after.records {
				if len(r.Grants) > 2 && after != before {
					next := *r
					next.Grants = r.Grants[:2]
					after.records = slices.Clone(after.records)
					after.records[i] = &next
				}
			}
			return after
		},
		"a role stays as it was": func(before, after *Book) *Book {
			if len(after.roles) == len(before.roles) {
				after.roles = before.roles
			}
			return after
		},
		"the revision stays": func(before, after *Book) *Book {
			after.revision = before.revision
			return after
		},
		"what it takes is counted wrongly": func(_, after *Book) *Book {
			after.bytes++
			return after
		},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			for seed := range uint64(5) {
				if play(seed, mistake, map[string]int{}) != nil {
					return
				}
			}
			t.Error("it is not noticed")
		})
	}
}

func TestTheLimitsOfABook(t *testing.T) {
	b := Empty()
	must := func(next *Book, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		b = next
	}
	refused := func(words string, _ *Book, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want %s", err, words)
		}
	}
	var grants []Grant
	for i := range kind.MaxGrants + 1 {
		grants = append(grants, Grant{Role: kind.RoleRead, Path: "/" + strings.Repeat("x", 250) + fmt.Sprint(i)})
	}
	next, err := b.CreateToken("a", [32]byte{1}, 0, grants, 1, "")
	refused("65 roles are granted", next, err)
	must(b.CreateToken("a", [32]byte{1}, 0, grants[:kind.MaxGrants], 1, ""))
	next, err = b.Grant(Principal{Kind: Token, Name: "a"}, grants[kind.MaxGrants], 1, "")
	refused("has the maximum, 64 roles", next, err)
	for i := 0; err == nil || i == 0; i++ {
		next, err = b.CreateToken(fmt.Sprint(i), [32]byte{2, byte(i), byte(i >> 8)}, 0, grants[:kind.MaxGrants], 1, "")
		if err == nil {
			b = next
		}
	}
	refused("take the maximum, 16 MiB", next, err)
	must(b.RevokeToken("a"))
	must(b.CreateToken("b", [32]byte{3}, 0, grants[:kind.MaxGrants], 1, ""))
}

func TestATokenIsFoundByItsSecretUntilItIsOver(t *testing.T) {
	b, err := Empty().CreateToken("ci", hashOf("secret"), 100, nil, 1, "op")
	if err != nil {
		t.Fatal(err)
	}
	if r := b.TokenOf([]byte("secret"), 99); r == nil || r.Name != "ci" || r.By != "op" {
		t.Errorf("%+v", r)
	}
	for secret, wall := range map[string]uint64{"secret": 100, "other": 1, "": 1} {
		if b.TokenOf([]byte(secret), wall) != nil {
			t.Errorf("%q lets in at %d", secret, wall)
		}
	}
}

// TestAnExportImportedElsewhereGivesTheSameRules: a second import changes nothing. A partly failed import has no
// effect.
func TestAnExportImportedElsewhereGivesTheSameRules(t *testing.T) {
	rules := kind.Rules{Roles: []Role{{Name: "deploy", Rules: []Rule{{Path: "/", Rights: protocol.RightRead}}}}}
	for i, name := range []string{"token:ci", "cn:box", "san:box", "anonymous"} {
		p := kind.Principal{Name: name, Grants: []Grant{{Role: "deploy", Path: "/a"},
			{Role: "read", Path: "/b", Object: "n"}}}
		if i == 0 {
			p.SHA256, p.Expires = strings.Repeat("ab", 32), time.UnixMilli(77)
		}
		rules.Principals = append(rules.Principals, p)
	}
	export := func(b *Book) (e kind.Rules) {
		for _, r := range b.Roles() {
			e.Roles = append(e.Roles, *r)
		}
		for _, r := range b.Records() {
			e.Principals = append(e.Principals, b.Export(r))
		}
		return e
	}
	imports := func(b *Book, rules kind.Rules, by string) (*Book, error) {
		entries, err := Entries(rules.Principals)
		if err != nil {
			t.Fatal(err)
		}
		return b.Import(rules.Roles, entries, 5, by)
	}
	first, err := imports(Empty(), rules, "ann")
	if err != nil || first.Revision() != 1 || first.Open() {
		t.Fatalf("revision %d, %v", first.Revision(), err)
	}
	second, err := imports(Empty(), export(first), "ann")
	if err != nil || !bytes.Equal(second.Save(nil), first.Save(nil)) {
		t.Errorf("%v: another book: %+v", err, export(second))
	}
	if again, err := imports(second, export(first), "joe"); again != second || err != nil {
		t.Errorf("the second import changes something: %v", err)
	}
	rules.Principals[0].SHA256 = strings.Repeat("cd", 32)
	rules.Principals[3].Grants = nil
	changed, err := imports(second, rules, "joe")
	if err != nil || changed.Revision() != 2 || len(changed.tokens) != 1 || changed.tokens[0].Hash[0] != 0xcd ||
		changed.Record(Principal{Kind: Anonymous}) != nil || changed.tokens[0].By != "ann" {
		t.Errorf("%v: %+v", err, export(changed))
	}
	rules.Principals[0].SHA256 = strings.Repeat("ef", 32)
	rules.Principals[1].Grants = []Grant{{Role: "boss", Path: "/"}}
	half, err := imports(second, rules, "joe")
	if half != second || err == nil || err.Error() != `cn:box: there is no role "boss"` {
		t.Errorf("%v, changed %v", err, half != second)
	}
}

// TestAClosedBookAllowsNothing: a closed book keeps its roles, and its size matches its content.
func TestAClosedBookAllowsNothing(t *testing.T) {
	b := Empty()
	for _, change := range []func(*Book) (*Book, error){
		func(b *Book) (*Book, error) {
			return b.SetRole("deploy", []Rule{{Path: "/", Rights: protocol.RightRead}})
		},
		func(b *Book) (*Book, error) {
			return b.CreateToken("ci", hashOf("x"), 0, []Grant{{Role: "deploy", Path: "/"}}, 1, "")
		},
		func(b *Book) (*Book, error) {
			return b.Grant(Principal{Kind: CommonName, Name: "box"}, Grant{Role: "read", Path: "/"}, 1, "")
		},
		func(b *Book) (*Book, error) {
			return b.Grant(Principal{Kind: Anonymous}, Grant{Role: "read", Path: "/"}, 1, "")
		},
	} {
		var err error
		if b, err = change(b); err != nil {
			t.Fatal(err)
		}
	}
	c := b.Closed()
	if c.Open() || c.Role("deploy") == nil || c.TokenOf([]byte("x"), 1) != nil ||
		len(c.Holders("/", "", protocol.RightRead)) != 0 || c.Revision() <= b.Revision() {
		t.Errorf("%+v", c.Records())
	}
	if again, err := c.DeleteRole("deploy"); err != nil || again.bytes != 0 {
		t.Errorf("%v: without roles it has %d bytes", err, again.bytes)
	}
}

func TestPrincipalsAreReadAsTheyAreWritten(t *testing.T) {
	for _, text := range []string{"token:ci", "token:a:b", "cn:box.example", "san:box", "anonymous"} {
		if p, err := kind.ParseIdentity(text); err != nil || p.String() != text {
			t.Errorf("%s: %v, %v", text, p, err)
		}
	}
	for _, text := range []string{"", "ci", "token:", "anonymous:x", "group:x", "token:a\x00"} {
		if p, err := kind.ParseIdentity(text); err == nil {
			t.Errorf("%q is %v", text, p)
		}
	}
}

func FuzzLoad(f *testing.F) {
	b, _ := Empty().CreateToken("ci", [32]byte{1}, 5, []Grant{{Role: kind.RoleRead, Path: "/a", Object: "n"}}, 1, "op")
	b, _ = b.SetRole("r", []Rule{{Path: "/x", Rights: 3}})
	f.Add(b.Save(nil))
	f.Fuzz(func(t *testing.T, src []byte) {
		b, err := Load(src)
		if err == nil && !bytes.Equal(b.Save(nil), src) {
			t.Error("saved again it has other bytes")
		}
	})
}

func hashOf(secret string) [32]byte { return sha256.Sum256([]byte(secret)) }
