package docs_test

import (
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"os/exec"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestBlocksOfCodeAreWellFormed parses every code block in its declared language.
func TestBlocksOfCodeAreWellFormed(t *testing.T) {
	kinds := make(map[string]int)
	for _, p := range pages(t) {
		for _, f := range p.fences {
			var err error
			language, _, _ := strings.Cut(f.language, " ")
			switch language {
			case "go", "golang": // golang: not compiled
				err = parseGo(f.text)
			case "yaml":
				var node yaml.Node
				err = yaml.Unmarshal([]byte(f.text), &node)
			case "json":
				var value json.RawMessage
				err = json.Unmarshal([]byte(f.text), &value)
			case "sh", "bash":
				err = parseShell(t, f.text)
			case "", "text", "console", "hex", "ini", "sql", "dockerfile", "promql", "python", "ts":
				continue
			default:
				t.Errorf("%s:%d: the language %q is not known to this test", p.path, f.line, language)
			}
			kinds[language]++
			if err != nil {
				t.Errorf("%s:%d: %v", p.path, f.line, err)
			}
		}
	}
	if kinds["go"] == 0 || kinds["sh"] == 0 || kinds["yaml"] == 0 {
		t.Errorf("only these blocks were found: %v", kinds)
	}
}

// parseGo parses a file, or declarations, or statements. Three dots may replace omitted code.
func parseGo(text string) error {
	text = strings.ReplaceAll(text, "\t...\n", "\n")
	text = strings.ReplaceAll(text, "\n...\n", "\n\n")
	var all []error
	for _, source := range []string{text, "package p\n" + text, "package p\nfunc _() {\n" + text + "\n}"} {
		_, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution)
		if err == nil {
			return nil
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}

// parseShell has a shell parse the commands without execution.
func parseShell(t *testing.T, text string) error {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	command := exec.Command(shell, "-n")
	command.Stdin = strings.NewReader(text)
	out, err := command.CombinedOutput()
	if err != nil {
		return errors.New(strings.TrimSpace(string(out)))
	}
	return nil
}
