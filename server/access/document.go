package access

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/signalbox/signalbox/internal/apijson"
	"github.com/signalbox/signalbox/protocol/access"
)

// Document returns rules as YAML for ParseRules: roles and principals span several lines, every rule and grant takes
// one line.
func Document(rules access.Rules) (*yaml.Node, error) {
	object, err := apijson.Encode(rules)
	if err != nil {
		return nil, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(object, &document); err != nil {
		return nil, err
	}
	layOut(document.Content[0], 0)
	return &document, nil
}

// Line formats a principal as one line.
func Line(p access.Principal) (string, error) {
	object, err := apijson.Encode(p)
	if err != nil {
		return "", err
	}
	var item yaml.Node
	if err := yaml.Unmarshal(object, &item); err != nil {
		return "", err
	}
	layOut(item.Content[0], inLine)
	line, err := yaml.Marshal([]*yaml.Node{item.Content[0]})
	return strings.TrimSpace(string(line)), err
}

// inLine is the nesting depth at which rules and grants start.
const inLine = 4

func layOut(n *yaml.Node, depth int) {
	if n.Style &^= yaml.DoubleQuotedStyle; depth < inLine {
		n.Style = 0
	}
	for _, part := range n.Content {
		layOut(part, depth+1)
	}
}
