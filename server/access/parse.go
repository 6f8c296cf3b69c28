package access

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/signalbox/signalbox/internal/apijson"
	"github.com/signalbox/signalbox/protocol/access"
	handle "github.com/signalbox/signalbox/server/handle/access"
	book "github.com/signalbox/signalbox/shard/access"
	"github.com/signalbox/signalbox/shard/meta"
)

// ParseRules reads access rules from YAML, which may be JSON.
func ParseRules(text []byte) (rules access.Rules, err error) {
	var document any
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return rules, errors.New("the file is empty; write principals: [] for no rules")
	} else if err != nil {
		return rules, err
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return rules, errors.New("the file has more than one document")
	}
	if _, is := document.(map[string]any); !is {
		return rules, errors.New("the file is not a YAML mapping with roles and principals")
	}
	object, err := json.Marshal(document)
	if err != nil {
		return rules, err
	}
	if err := apijson.Decode(object, &rules); err != nil {
		return rules, err
	}
	return rules, handle.CheckPlaces(rules)
}

// parse reads complete rules: every granted role is defined in the text or predefined. made contains only these
// rules.
func parse(text []byte) (first *meta.AccessImport, made *book.Book, err error) {
	rules, err := ParseRules(text)
	if err != nil {
		return nil, nil, err
	}
	first = &meta.AccessImport{First: true, Roles: rules.Roles}
	if first.Entries, err = book.Entries(rules.Principals); err != nil {
		return nil, nil, err
	}
	made, err = book.Empty().Import(first.Roles, first.Entries, 0, "")
	return first, made, err
}

// ReadFirstRules reads the rules a new cluster imports, and returns the file's SHA-256 in hex. Unless the host has
// root tokens, at least one principal in the file must have the right to change rules.
func ReadFirstRules(path string, rootTokens bool) (first *meta.AccessImport, sum string, err error) {
	text, err := os.ReadFile(path)
	var made *book.Book
	if err == nil {
		first, made, err = parse(text)
	}
	switch {
	case err != nil:
	case made.Open(): // an import would change nothing, and leave the cluster without rules
		err = errors.New("the file has no rules; add a role, or a principal with a role or a token")
	case !rootTokens && !made.HasAdmin():
		err = errors.New("nobody may change the access rules; give a principal the role root on /, or the host a " +
			"root token (--token-file)")
	}
	if err != nil {
		return nil, "", fmt.Errorf("access: cannot use the access rules file %s: %w", path, err)
	}
	return first, HashText(string(text)), nil
}

// parseRootTokens returns root token names, keyed by token hash.
func parseRootTokens(text []byte) (map[hash]string, error) {
	_, made, err := parse(text)
	if err != nil {
		return nil, err
	}
	names := make(map[hash]string)
	for _, r := range made.Records() {
		if r.Kind != book.Token || r.Expires != 0 || !slices.Equal(r.Grants, []access.Grant{rootGrant}) {
			return nil, fmt.Errorf("%v must be a token with the role root on / and without expiry. The cluster "+
				"stores all other rules: import them with signalbox access import, or give them to a new cluster "+
				"with --access-file", r.Principal)
		}
		names[r.Hash] = r.Name
	}
	return names, nil
}

var rootGrant = access.Grant{Role: access.RoleRoot, Path: "/"}
