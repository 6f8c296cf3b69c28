package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// given is the text for one setting in a source, with its position.
type given struct {
	texts []string
	where string
}

// readFile reads a settings file. Unknown or invalid parts are recorded as mistakes.
func (c *checker) readFile(path, where string) map[string]given {
	note := func(line int, setting, problem, remedy string) {
		at := where
		if line > 0 {
			at = fmt.Sprintf("%s:%d: %s", path, line, setting)
		}
		c.mistakes = append(c.mistakes, Mistake{Setting: setting, Where: at, Problem: problem, Remedy: remedy})
	}
	root, err := parseFile(path)
	switch {
	case err != nil:
		note(0, fileSetting, withoutPath(err), "give the path to a readable YAML file")
		return nil
	case root == nil:
		return nil
	case root.Kind != yaml.MappingNode:
		note(0, fileSetting, "the file is not a list of settings", "write one setting per line, such as name: a")
		return nil
	}
	found := make(map[string]given)
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, content := root.Content[i], root.Content[i+1]
		if content.Kind == yaml.AliasNode {
			content = content.Alias
		}
		name := key.Value
		_, twice := found[name]
		texts, problem := textsOf(name, content)
		switch {
		case !hasRow(name):
			note(key.Line, name, "unknown setting", suggest(name))
		case twice:
			note(key.Line, name, "the setting is given twice", "remove a duplicate line")
		case problem != "":
			note(key.Line, name, problem, "see docs/settings.md for the format")
		case len(texts) > 0:
			found[name] = given{texts, fmt.Sprintf("%s:%d: %s: %s", path, key.Line, name, strings.Join(texts, ","))}
		}
	}
	return found
}

// parseFile returns the file's root node, nil for a file without content.
func parseFile(path string) (*yaml.Node, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, MaxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > MaxFile {
		return nil, fmt.Errorf("longer than %v", Size(MaxFile))
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one document")
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	return root, nil
}

// textsOf converts a setting's value to the texts a flag would have, nil if the file has the key without a value.
func textsOf(name string, content *yaml.Node) (texts []string, problem string) {
	switch content.Kind {
	case yaml.ScalarNode:
		if content.Tag == "!!null" {
			return nil, ""
		}
		return []string{content.Value}, ""
	case yaml.SequenceNode:
		if name != "initial-hosts" && name != "insecure" {
			return nil, "expected one value, not a list"
		}
		for _, item := range content.Content {
			if item.Kind != yaml.ScalarNode {
				return nil, "a list item is not plain text"
			}
			texts = append(texts, item.Value)
		}
		return texts, ""
	case yaml.MappingNode:
		if name != "initial-hosts" {
			return nil, "expected one value, not nested settings"
		}
		for i := 0; i+1 < len(content.Content); i += 2 {
			host, address := content.Content[i], content.Content[i+1]
			if address.Kind != yaml.ScalarNode {
				return nil, "the address for host " + host.Value + " is not plain text"
			}
			texts = append(texts, host.Value+"="+address.Value)
		}
		return texts, ""
	}
	return nil, "expected a plain value"
}
