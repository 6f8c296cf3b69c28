package english

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

var (
	codeBlock   = regexp.MustCompile("(?s)```.*?```")
	htmlComment = regexp.MustCompile(`(?s)<!--.*?-->`)
	linkTarget  = regexp.MustCompile(`\]\([^)]*\)`)
)

// readMarkdown returns a page's prose. The changelog describes earlier releases in their own words.
func readMarkdown(name, content string) []text {
	if path.Base(name) == "CHANGELOG.md" {
		return nil
	}
	kind := docs
	if path.Base(name) == "DESIGN.md" {
		kind = designPages
	}
	for _, pattern := range []*regexp.Regexp{codeBlock, htmlComment} {
		content = pattern.ReplaceAllString(content, " ")
	}
	return []text{{path: name, line: 1, kind: kind, text: linkTarget.ReplaceAllString(content, "]")}}
}

// readOpenAPI returns the summaries and descriptions in the OpenAPI document, each once, because many fields share
// texts.
func readOpenAPI(name, content string) (found []text) {
	if name != "gateway/http/openapi.json" {
		return nil
	}
	var document any
	if err := json.Unmarshal([]byte(content), &document); err != nil {
		panic(err)
	}
	seen := make(map[string]bool)
	var visit func(node any, context string)
	visit = func(node any, context string) {
		switch node := node.(type) {
		case map[string]any:
			for key, value := range node {
				s, isString := value.(string)
				if isString && (key == "description" || key == "summary") && !seen[s] {
					seen[s] = true
					found = append(found, text{path: name, kind: apiDescriptions, text: s, context: context})
				}
				visit(value, context+"/"+key)
			}
		case []any:
			for _, item := range node {
				visit(item, context)
			}
		}
	}
	visit(document, "")
	return found
}

// readFamilies returns the metric help: the third column in the table of metric families.
func readFamilies(name, content string) (found []text) {
	if name != "server/admin/families.txt" {
		return nil
	}
	number := 0
	for line := range strings.Lines(content) {
		number++
		if column := strings.SplitN(strings.TrimSpace(line), "\t", 3); len(column) == 3 {
			found = append(found, text{path: name, line: number, kind: metricHelp, text: column[2]})
		}
	}
	return found
}

// readAlerts returns the Prometheus alerts' summaries and descriptions.
func readAlerts(name, content string) (found []text) {
	if name != "deploy/prometheus/alerts.yaml" {
		return nil
	}
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert       string
				Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(content), &file); err != nil {
		panic(err)
	}
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			for _, annotation := range rule.Annotations {
				found = append(found, text{path: name, kind: alerts, text: annotation, context: rule.Alert})
			}
		}
	}
	return found
}

var (
	scriptComment = regexp.MustCompile(`(?m)(^|\s)//.*$|(?s)/\*.*?\*/`)
	scriptString  = regexp.MustCompile("'([^'\n]*)'|\"([^\"\n]*)\"|`([^`\n]*)`")
	scriptInsert  = regexp.MustCompile(`\$\{[^{}]*\}`)
)

// readScript returns the English strings in the web console.
func readScript(name, content string) (found []text) {
	if !strings.HasPrefix(name, "gateway/http/console/files/") {
		return nil
	}
	content = scriptComment.ReplaceAllStringFunc(content, func(comment string) string {
		return strings.Repeat("\n", strings.Count(comment, "\n"))
	})
	for _, at := range scriptString.FindAllStringIndex(content, -1) {
		s := scriptInsert.ReplaceAllString(content[at[0]+1:at[1]-1], "X")
		if len(words(s)) >= fewestWords {
			found = append(found, text{
				path: name, line: 1 + strings.Count(content[:at[0]], "\n"), kind: consoleTexts, text: s,
			})
		}
	}
	return found
}
