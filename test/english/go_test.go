package english

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// fewestWords is the minimum word count for a string literal to count as English.
const fewestWords = 3

// readGo returns the comments in a Go file, and the English string literals in product files.
func readGo(path, content string) []text {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		panic(err) // the tree does not compile
	}
	line := func(p token.Pos) int { return set.Position(p).Line }
	kind := productComments
	if inTest(path) {
		kind = testComments
	}
	var found []text
	for _, group := range file.Comments {
		comment := group.Text()
		output := strings.HasPrefix(comment, "Output:") // an example's
		if !output && !strings.Contains(comment, "DO NOT EDIT") {
			found = append(found, text{path: path, line: line(group.Pos()), kind: kind, text: withoutCode(comment)})
		}
	}
	if inTest(path) {
		return found
	}
	var above []ast.Node
	inside := make(map[ast.Node]bool) // parts of a literal that is already read
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			above = above[:len(above)-1]
			return true
		}
		above = append(above, n)
		if tag, ok := n.(*ast.Field); ok && tag.Tag != nil {
			if s, _ := literal(tag.Tag); reflect.StructTag(s).Get("help") != "" {
				help := reflect.StructTag(s).Get("help")
				found = append(found, text{path: path, line: line(n.Pos()), kind: flagHelp, text: help, context: "tag"})
			}
		}
		e, ok := n.(ast.Expr)
		if !ok || inside[n] {
			return true
		}
		s, ok := literal(e)
		if !ok {
			return true
		}
		ast.Inspect(n, func(part ast.Node) bool { inside[part] = true; return true })
		if len(words(s)) < fewestWords || len(strings.Fields(s)) < fewestWords || strings.HasPrefix(s, "<") {
			return true
		}
		kind, context := classify(above, path)
		if kind != "" {
			found = append(found, text{path: path, line: line(n.Pos()), kind: kind, text: s, context: context})
		}
		return true
	})
	return found
}

// withoutCode removes indented lines, which are code, from a comment.
func withoutCode(comment string) string {
	var kept strings.Builder
	for line := range strings.Lines(comment) {
		if !strings.HasPrefix(line, "\t") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// literal returns the value of a string literal, or of literals joined by +. Operands other than literals become "X".
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil && e.Kind == token.STRING
	case *ast.ParenExpr:
		return literal(e.X)
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		a, okA := literal(e.X)
		b, okB := literal(e.Y)
		if !okA {
			a = "X"
		}
		if !okB {
			b = "X"
		}
		return a + b, okA || okB
	}
	return "", false
}

var (
	// flagCall matches the functions in pflag and flag that declare a flag.
	flagCall = regexp.MustCompile(`\.(\w*Var|Bool|Int|Float64|String|Duration)P?$`)
	// codeKeys are fields with command lines or code.
	codeKeys = []string{"Use", "Example", "Examples"}
	// codeCalls are functions whose literals are code or patterns.
	codeCalls = []string{"regexp.MustCompile", "template.New", "strings.NewReplacer", "strings.Fields"}
)

// classify returns the kind for a string literal, the last node in above, and the enclosing call or field.
func classify(above []ast.Node, path string) (kind, context string) {
	for _, n := range slices.Backward(above[:len(above)-1]) {
		switch n := n.(type) {
		case *ast.Field, *ast.ImportSpec:
			return "", ""
		case *ast.KeyValueExpr:
			key := nameOf(n.Key)
			switch {
			case slices.Contains(codeKeys, key):
				return "", ""
			case key == "Long" || key == "Short":
				return commandHelp, key
			case (key == "help" || key == "otherwise") && strings.HasPrefix(path, "server/settings/"):
				return flagHelp, key
			}
			if context == "" {
				context = key
			}
		case *ast.CallExpr:
			name := nameOf(n.Fun)
			switch {
			case slices.Contains(codeCalls, name):
				return "", ""
			case inCommands(path) && flagCall.MatchString(name) && len(n.Args) >= 3:
				return flagHelp, name
			case strings.HasPrefix(path, "gateway/operation/") && isRow(n):
				return commandHelp, name
			}
			if context == "" {
				context = name
			}
		case *ast.BlockStmt, *ast.FuncDecl:
			return messages, context
		}
	}
	return messages, context
}

// inCommands reports whether a package declares command line flags.
func inCommands(path string) bool {
	return strings.HasPrefix(path, "cmd/") || strings.HasPrefix(path, "gateway/ydb/") ||
		strings.HasPrefix(path, "deploy/release/") || strings.HasPrefix(path, "server/settings/")
}

// isRow reports whether a call declares an operation: its second argument is a request kind.
func isRow(call *ast.CallExpr) bool {
	return len(call.Args) >= 3 && strings.HasPrefix(nameOf(call.Args[1]), "protocol.Kind")
}

// nameOf returns a name's source text, as far as needed here.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return nameOf(e.X) + "." + e.Sel.Name
	case *ast.CallExpr:
		return nameOf(e.Fun) + "()"
	case *ast.IndexExpr:
		return nameOf(e.X)
	}
	return ""
}
