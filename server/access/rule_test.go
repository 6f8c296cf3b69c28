package access

import (
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/rights"
)

// entry returns an entry that is right.
func entry(name, token string, role Role, paths ...string) Entry {
	return NewEntry(name, token, []Role{role}, paths)
}

func text(entries ...Entry) string {
	var b strings.Builder
	b.WriteString("# tokens\n[]\n")
	if len(entries) > 0 {
		b.Reset()
	}
	for _, e := range entries {
		b.WriteString(e.Line() + "\n")
	}
	return b.String()
}

func TestWhichPathsAPathCovers(t *testing.T) {
	for _, c := range []struct {
		prefix, path string
		want         bool
	}{
		{"/prod", "/prod", true},
		{"/prod", "/prod/x", true},
		{"/prod", "/prod/x/y", true},
		{"/prod", "/production", false},
		{"/prod", "/pro", false},
		{"/prod", "/test", false},
		{"/prod", "/", false},
		{"/prod/jobs", "/prod", false},
		{"/prod/jobs", "/prod/jobs", true},
		{"/prod/jobs", "/prod/jobs2", false},
		{"prod/", "/prod", true},
		{"//prod//jobs/", "/prod/jobs/a", true},
		{"/", "/prod", true},
		{"/", "/a/b", true},
		{"/Prod", "/prod", false},
	} {
		compiled, mistakes := entry("a", "t", RoleRead, "/other", c.prefix).compile()
		if len(mistakes) > 0 {
			t.Fatal(mistakes)
		}
		if got := rights.NewSet(compiled.rules...).Allows(c.path, "", protocol.RightSee); got != c.want {
			t.Errorf("%s covers %s: %v", c.prefix, c.path, got)
		}
	}
}

func TestWhatARoleAllows(t *testing.T) {
	for role, want := range map[Role]string{
		RoleRead: "read", RoleWrite: "read acquire write", RoleOperator: "read acquire write delete operate",
		RoleAdmin: "read acquire write delete operate admin",
		RoleRoot:  "read acquire write delete operate admin cluster backup",
	} {
		allowed, err := role.rights()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(allowed.Names(), " "); got != want {
			t.Errorf("%s allows %s, want %s", role, got, want)
		}
	}
	if _, err := Role("boss").rights(); err == nil {
		t.Error("boss is a role")
	}
}

func TestMistakesInAFile(t *testing.T) {
	good := entry("a", "t", RoleRead, "/")
	for name, c := range map[string]struct{ text, want string }{
		"empty":   {"", "it is empty; write [] where nobody is to be let in"},
		"no YAML": {"a: b: c", "yaml: mapping values are not allowed in this context"},
		"no list": {"name: a",
			"it is no list; write entries such as - {name: a, sha256: ..., roles: [read], paths: [/]}"},
		"two documents": {"[]\n---\n[]", "there is more than one document in it"},
		"no entry":      {"- a", "line 1: an entry is made of name, sha256, roles and paths"},
		"unknown field": {"- {name: a, hash: x}",
			`line 1: there is no "hash" in an entry; it is made of name, sha256, roles and paths`},
		"list for a text": {"- {name: [a]}",
			"line 1: name is not what it should be: a text for name and sha256, a list for roles and paths"},
		"map for a list": {"- {roles: {a: b}}",
			"line 1: roles is not what it should be: a text for name and sha256, a list for roles and paths"},
		"no name": {strings.Replace(good.Line(), "name: a", `name: ""`, 1),
			`line 1: entry "": no name; say who has the token`},
		"long name": {strings.Replace(good.Line(), "name: a", "name: "+strings.Repeat("n", 257), 1),
			"a name of 257 bytes; at most 256 are allowed"},
		"control character": {strings.Replace(good.Line(), "name: a", `name: "a\n"`, 1), "a name with a control " +
			"character"},
		"no hash": {"- {name: a, roles: [read], paths: [/]}",
			`line 1: entry "a": sha256 is not the SHA-256 of a token, 64 hex digits; signalbox token generate makes both`},
		"no roles": {strings.Replace(good.Line(), "roles: [read]", "roles: []", 1),
			`line 1: entry "a": no roles; give read, write, operator, admin or root`},
		"unknown role": {strings.Replace(good.Line(), "read", "boss", 1),
			`line 1: entry "a": there is no role "boss"; give read, write, operator, admin or root`},
		"no paths": {strings.Replace(good.Line(), `["/"]`, "[]", 1),
			`line 1: entry "a": no paths; give those of nodes, or / for all`},
		"bad path": {strings.Replace(good.Line(), `"/"`, `"/a/.."`, 1),
			`line 1: entry "a": path "/a/..": bad path: part 2 ("..") is nothing but dots; write it like /prod/jobs, or / for all`},
		"part of the cluster": {"- " + strings.TrimPrefix(entry("a", "t", RoleRoot, "/prod").Line(), "- "),
			`path "/prod": the role root is about all of the cluster; give it for the path /, or the role admin`},
		"owner of a token": {text(good, entry("b", "t", RoleRead, "/")),
			`line 2: entry "b" has the token of "a" in line 1; a token has one owner`},
		"all of them": {"- {name: a}\n- {sha256: x}\n- a", "line 3: an entry is made"},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := parse([]byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v, %v\nwant %s", found, err, c.want)
			}
		})
	}
}

func TestAnEntrySurvivesItsLine(t *testing.T) {
	for _, e := range []Entry{
		entry("billing", "t", RoleWrite, "/prod/billing"),
		entry("Ann O'Neill: the \"boss\" #1", "t", RoleAdmin, "/"),
		entry("true", "t", RoleRead, "/a", "/b-c/1.2"),
		entry("12", "t", RoleRead, "/0", "/a,b", "/{x}"),
		NewEntry("two roles", NewToken(), []Role{RoleRead, RoleAdmin}, []string{"/x"}),
	} {
		want, mistakes := e.compile()
		if len(mistakes) > 0 {
			t.Fatal(mistakes)
		}
		found, err := parse([]byte(e.Line()))
		if err != nil {
			t.Errorf("%s: %v", e.Line(), err)
			continue
		}
		got := found[want.hash]
		if got == nil || got.name != e.Name || !slices.Equal(got.rules, want.rules) {
			t.Errorf("%s: got %+v", e.Line(), got)
		}
	}
}

func TestAFileMayBeJSONAndListsSingle(t *testing.T) {
	e := entry("a", "t", RoleWrite, "/x")
	for _, text := range []string{
		`[{"name": "a", "sha256": "` + e.SHA256 + `", "roles": ["write"], "paths": ["/x"]}]`,
		"- name: a\n  sha256: " + strings.ToUpper(e.SHA256) + "\n  roles: write\n  paths: /x\n",
	} {
		found, err := parse([]byte(text))
		if err != nil || len(found) != 1 || found[hashOf([]byte("t"))].rules[0].Path != "/x" {
			t.Errorf("%s: %v, %v", text, found, err)
		}
	}
}

func TestTokensAreNotAlike(t *testing.T) {
	seen := make(map[string]bool)
	for range 100 {
		token := NewToken()
		if seen[token] || len(token) != len("sbx_")+43 || !strings.HasPrefix(token, "sbx_") {
			t.Fatal(token)
		}
		seen[token] = true
	}
}

func FuzzParse(f *testing.F) {
	f.Add(text(entry("a", "t", RoleRead, "/")))
	f.Add("- &a {name: x}\n- *a\n")
	f.Add("- {<<: {name: x}}")
	f.Fuzz(func(t *testing.T, text string) {
		found, err := parse([]byte(text))
		for h, holding := range found {
			if err != nil || holding.name == "" || len(holding.rules) == 0 || h == (hash{}) &&
				!strings.Contains(text, "0000") {
				t.Errorf("%q: %v, %v", text, holding, err)
			}
		}
	})
}
