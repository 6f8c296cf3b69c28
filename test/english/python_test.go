package english

import (
	"regexp"
	"strings"
)

// pythonToken matches a comment, a string with its prefix, or a line break. Strings with three quotes come first.
var pythonToken = regexp.MustCompile(
	`#[^\n]*|[rRbBfFuU]{0,2}(?:"""(?s:.*?)"""|'''(?s:.*?)'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|\n`)

// readPython returns the docstrings and messages in the Python package. Tests are not read.
func readPython(path, content string) (found []text) {
	if !strings.HasPrefix(path, "sdk/python/src/") {
		return nil
	}
	line, end := 1, 0
	for _, at := range pythonToken.FindAllStringIndex(content, -1) {
		token, before := content[at[0]:at[1]], content[end:at[0]]
		started := line
		line += strings.Count(token, "\n")
		end = at[1]
		prefix, quoted, isString := strings.Cut(token, token[len(token)-1:])
		switch {
		case token == "\n" || token[0] == '#' || !isString || strings.ContainsAny(prefix, "bB"):
		case strings.HasPrefix(quoted, `""`) && strings.HasSuffix(quoted, `""`) && strings.TrimSpace(before) == "":
			docstring := strings.Trim(quoted, `"`)
			found = append(found, text{path: path, line: started, kind: docstrings, text: docstring})
		case len(words(quoted)) >= fewestWords:
			message := text{path: path, line: started, kind: messages, text: strings.Trim(quoted, `"'`)}
			// Python joins strings that follow one another, also on the next line.
			if n := len(found) - 1; n >= 0 && found[n].kind == messages && found[n].line >= started-1 &&
				strings.TrimSpace(before) == "" {
				found[n].text += message.text
				found[n].line = started
			} else {
				found = append(found, message)
			}
		}
	}
	return found
}
