package access

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/signalbox/signalbox/shard/rights"
)

// Mistakes are all mistakes in a file or an entry.
type Mistakes []string

// Error lists all mistakes, every mistake on its own line.
func (m Mistakes) Error() string { return strings.Join(m, "\n  - ") }

// tokens are the content of a file, by the hashes of the tokens.
type tokens map[hash]*holding

// holding is the content of a file about a single token.
type holding struct {
	name  string
	line  int
	rules []rights.Rule
}

// parse reads a file's text, which is YAML and so may be JSON. The error lists all mistakes.
func parse(text []byte) (tokens, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, Mistakes{"it is empty; write [] where nobody is to be let in"}
		}
		return nil, Mistakes{err.Error()}
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, Mistakes{"there is more than one document in it"}
	}
	list := document.Content[0]
	if list.Kind != yaml.SequenceNode {
		return nil, Mistakes{"it is no list; write entries such as - {name: a, sha256: ..., roles: [read], paths: [/]}"}
	}
	if len(list.Content) > MaxEntries {
		return nil, Mistakes{fmt.Sprintf("%d entries; at most %d are allowed", len(list.Content), MaxEntries)}
	}
	found := make(tokens, len(list.Content))
	var mistakes Mistakes
	for _, item := range list.Content {
		blame := func(format string, args ...any) {
			mistakes = append(mistakes, fmt.Sprintf("line %d: ", item.Line)+fmt.Sprintf(format, args...))
		}
		entry, wrong := entryOf(item)
		for _, w := range wrong {
			blame("%s", w)
		}
		if len(wrong) > 0 {
			continue
		}
		c, wrong := entry.compile()
		for _, w := range wrong {
			blame("entry %q: %s", entry.Name, w)
		}
		if len(wrong) > 0 {
			continue
		}
		switch h := found[c.hash]; {
		case h == nil:
			found[c.hash] = &holding{c.name, item.Line, c.rules}
		case h.name != c.name:
			blame("entry %q has the token of %q in line %d; a token has one owner", c.name, h.name, h.line)
		default:
			h.rules = append(h.rules, c.rules...)
		}
	}
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	return found, nil
}

// Entries returns the entries of a file's text. The error lists all mistakes.
func Entries(text []byte) ([]Entry, error) {
	if _, err := parse(text); err != nil {
		return nil, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	var list []Entry
	for _, item := range document.Content[0].Content {
		e, _ := entryOf(item)
		list = append(list, e)
	}
	return list, nil
}

// entryOf reads a single item of the list.
func entryOf(item *yaml.Node) (e Entry, mistakes Mistakes) {
	if item.Kind != yaml.MappingNode {
		return e, Mistakes{"an entry is made of name, sha256, roles and paths"}
	}
	for i := 0; i+1 < len(item.Content); i += 2 {
		key, content := item.Content[i].Value, item.Content[i+1]
		var err error
		switch key {
		case "name":
			err = content.Decode(&e.Name)
		case "sha256":
			err = content.Decode(&e.SHA256)
		case "roles":
			err = decodeList(content, &e.Roles)
		case "paths":
			err = decodeList(content, &e.Paths)
		default:
			mistakes = append(mistakes,
				fmt.Sprintf("there is no %q in an entry; it is made of name, sha256, roles and paths", key))
		}
		if err != nil {
			mistakes = append(mistakes,
				key+" is not what it should be: a text for name and sha256, a list for roles and paths")
		}
	}
	return e, mistakes
}

// decodeList accepts a single text as a list with a single element.
func decodeList[T any](content *yaml.Node, to *[]T) error {
	if content.Kind == yaml.ScalarNode {
		*to = make([]T, 1)
		return content.Decode(&(*to)[0])
	}
	return content.Decode(to)
}
