package access

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/signalbox/signalbox/protocol/access"
)

// entryOf returns a root token.
func entryOf(name, token string) access.Principal {
	return access.Principal{Name: "token:" + name, SHA256: HashText(token), Grants: []access.Grant{rootGrant}}
}

// text is a root token file, with lines as printed by token generate.
func text(entries ...access.Principal) string {
	text := "principals:\n"
	for _, e := range entries {
		line, err := Line(e)
		if err != nil {
			panic(err)
		}
		text += line + "\n"
	}
	return text
}

func TestMistakesInAFileOfRootTokens(t *testing.T) {
	expiring, reader, certificate := entryOf("a", "t"), entryOf("a", "t"), entryOf("a", "t")
	expiring.Expires = time.UnixMilli(1).UTC()
	reader.Grants = append(reader.Grants, access.Grant{Role: access.RoleRead, Path: "/"})
	certificate.Name, certificate.SHA256 = "cn:a", ""
	for name, c := range map[string]struct{ text, want string }{
		"empty":          {"", "the file is empty; write principals: [] for no rules"},
		"no hash at all": {"principals: [{name: token:a}]", "token:a: a token has sha256"},
		"no hash":        {"principals: [{name: token:a, sha256: x}]", "token:a: a token has sha256"},
		"owner of a token": {text(entryOf("a", "t"), entryOf("b", "t")),
			"the token b has the same secret as the token a"},
		"expires":       {text(expiring), "token:a must be a token with the role root on / and without expiry"},
		"another role":  {text(reader), "token:a must be a token with the role root on /"},
		"a certificate": {text(certificate), "cn:a must be a token with the role root on /"},
	} {
		t.Run(name, func(t *testing.T) {
			if found, err := parseRootTokens([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v, %v\nwant %s", found, err, c.want)
			}
		})
	}
}

func TestAnEntrySurvivesItsLine(t *testing.T) {
	for _, name := range []string{"billing", "Ann O'Neill: the \"boss\" #1", "true", "12", "{x}, y"} {
		found, err := parseRootTokens([]byte(text(entryOf(name, "t"))))
		if err != nil || found[hashOf([]byte("t"))] != name {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
}

// sample has every field of access rules.
func sample() access.Rules {
	return access.Rules{
		Roles: []access.Role{{Name: "deploy", Rules: []access.Rule{{Path: "/", Rights: access.Read},
			{Path: "/a", Object: "d-", Rights: access.Operate | access.Write}}}},
		Principals: []access.Principal{
			{Name: "token:true", SHA256: HashText("x"), Expires: time.UnixMilli(1_900_000_000_000).UTC(),
				Grants: []access.Grant{{Role: "deploy", Path: "/prod", Object: "no"},
					{Role: access.RoleRoot, Path: "/"}}},
			{Name: "cn:Ann: \"boss\" #1", Grants: []access.Grant{{Role: access.RoleRead, Path: "/"}}},
			{Name: "anonymous", Grants: []access.Grant{{Role: access.RoleRead, Path: "/"}}},
		},
	}
}

func TestRulesSurviveTheirDocument(t *testing.T) {
	document, err := Document(sample())
	if err != nil {
		t.Fatal(err)
	}
	var written bytes.Buffer
	if err := yaml.NewEncoder(&written).Encode(document); err != nil {
		t.Fatal(err)
	}
	read, err := ParseRules(written.Bytes())
	if err != nil || !reflect.DeepEqual(read, sample()) {
		t.Errorf("%v\n%s\ngot %+v", err, written.String(), read)
	}
	if !strings.Contains(written.String(), "- {path: /a, name_prefix: d-, permissions: [write, operate]}") {
		t.Errorf("people read:\n%s", written.String())
	}
}

func TestMistakesInRules(t *testing.T) {
	hash := HashText("t")
	for name, c := range map[string]struct{ text, want string }{
		"empty":         {"", "the file is empty; write principals: [] for no rules"},
		"no rules":      {"principals: []", "the file has no rules"},
		"no YAML":       {"a: b: c", "mapping values are not allowed"},
		"two documents": {"{}\n---\n{}", "the file has more than one document"},
		"unknown":       {"users: []", "users is unknown; known are roles, principals"},
		"no right":      {"roles: [{name: r, rules: [{path: /, permissions: [fly]}]}]", `"fly"`},
		"no place":      {"roles: [{name: r, rules: [{path: /a/, permissions: [read]}]}]", "the role r: "},
		"no node":       {"principals: [{name: anonymous, grants: [{role: read, path: a}]}]", "anonymous: "},
		"a list":        {"- {name: a}", "the file is not a YAML mapping with roles and principals"},
		"no principal": {"principals: [{name: ci, grants: [{role: root, path: /}]}]",
			`"ci" is no principal: write token:NAME`},
		"no hash": {"principals: [{name: 'token:ci', grants: [{role: root, path: /}]}]",
			"token:ci: a token has sha256"},
		"a hash of another": {"principals: [{name: 'cn:a', sha256: " + hash + ", grants: [{role: root, path: /}]}]",
			"cn:a: a token has sha256, the SHA-256 of its secret in 64 hex digits, and no other principal has it"},
		"no role": {"principals: [{name: 'cn:a', grants: [{role: boss, path: /}]}]", `cn:a: there is no role "boss"`},
		"no admin": {"principals: [{name: 'cn:a', grants: [{role: admin, path: /prod}]}]",
			"nobody may change the access rules"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "access.yaml")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if rules, _, err := ReadFirstRules(path, false); err == nil || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), path) {
				t.Errorf("got  %+v, %v\nwant %s", rules, err, c.want)
			}
			if _, _, err := ReadFirstRules(path, true); (err == nil) != (name == "no admin") {
				t.Errorf("beside root tokens: %v", err)
			}
		})
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
	f.Add(text(entryOf("a", "t")))
	f.Add("principals:\n- &a {name: x}\n- *a\n")
	f.Add("principals: [{<<: {name: x}}]")
	f.Fuzz(func(t *testing.T, text string) {
		found, err := parseRootTokens([]byte(text))
		for h, name := range found {
			if err != nil || name == "" || h == (hash{}) && !strings.Contains(text, "0000") {
				t.Errorf("%q: %q, %v", text, name, err)
			}
		}
	})
}
