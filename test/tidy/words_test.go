package tidy

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// vague matches comment words used in place of a named subject or verb: the client, the leader; reports, sends.
var vague = regexp.MustCompile(`(?i)\b(nobody|somebody|whoever|told|tells?|telling)\b`)

// metaphors are words unknown to the field, with their replacements. They must not appear in identifiers.
var metaphors = map[string]string{
	"life": "incarnation", "lives": "incarnations", "lane": "key queue", "lanes": "key queues",
	"carry": "send until answered", "roster": "owners", "feed": "shared watch", "feeds": "shared watches",
	"pulse": "pinger or stall detector", "duty": "leader tasks", "comeback": "reattach", "errand": "task",
	"settle": "record, complete, decide", "settled": "recorded", "told": "reported, notified",
	"tell": "report, notify, send", "stray": "redirect", "luggage": "state", "scribe": "recorder", "diary": "log",
	"crew": "workers", "doings": "operations", "habits": "profile", "dice": "random", "belief": "model",
	"hunter": "search", "nobody": "the subject's name", "somebody": "the subject's name",
}

// TestCommentsNameTheirSubjects: a comment names the actor and the action, in the field's words.
func TestCommentsNameTheirSubjects(t *testing.T) {
	for _, s := range sources(t) {
		for _, group := range s.file.Comments {
			for _, comment := range group.List {
				for i, line := range strings.Split(comment.Text, "\n") {
					if word := vague.FindString(line); word != "" {
						t.Errorf("%s:%d: a comment says %q where a subject or a verb has a name", s.path,
							s.line(comment.Pos())+i, word)
					}
				}
			}
		}
	}
}

// TestNamesAreWordsOfTheField: declared names are words that a reader would search for.
func TestNamesAreWordsOfTheField(t *testing.T) {
	for _, s := range sources(t) {
		for name, identifier := range declared(s.file) {
			for _, word := range wordsOf(name) {
				if better, ok := metaphors[word]; ok && !strings.HasPrefix(s.path, "test/tidy/") {
					t.Errorf("%s:%d: %s has the word %q; the field says: %s", s.path, s.line(identifier.Pos()), name,
						word, better)
				}
			}
		}
	}
}

// declared returns the names of types, functions, fields, constants and variables declared in a file outside function
// bodies.
func declared(file *ast.File) map[string]*ast.Ident {
	names := make(map[string]*ast.Ident)
	add := func(list ...*ast.Ident) {
		for _, identifier := range list {
			names[identifier.Name] = identifier
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.FuncDecl:
			add(node.Name)
			return false
		case *ast.TypeSpec:
			add(node.Name)
		case *ast.Field:
			add(node.Names...)
		case *ast.ValueSpec:
			add(node.Names...)
		}
		return true
	})
	return names
}

// wordsOf splits a name into lower-case words.
func wordsOf(name string) []string {
	var words []string
	var word strings.Builder
	for _, r := range name {
		if (unicode.IsUpper(r) || r == '_' || unicode.IsDigit(r)) && word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
		if unicode.IsLetter(r) {
			word.WriteRune(unicode.ToLower(r))
		}
	}
	return append(words, word.String())
}

// TestCommentHeadsMatchNames: a declaration's comment begins with the declared name.
func TestCommentHeadsMatchNames(t *testing.T) {
	check := func(s *source, doc *ast.CommentGroup, names ...*ast.Ident) {
		if doc == nil || len(names) != 1 || names[0].Name == "_" {
			return
		}
		head := strings.TrimSpace(doc.Text())
		for _, article := range []string{"A ", "An ", "The "} {
			head = strings.TrimPrefix(head, article)
		}
		rest, ok := strings.CutPrefix(head, names[0].Name)
		if ok && (rest == "" || !unicode.IsLetter(rune(rest[0])) && !unicode.IsDigit(rune(rest[0]))) {
			return
		}
		t.Errorf("%s:%d: the comment of %s begins with another word", s.path, s.line(doc.Pos()), names[0].Name)
	}
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && (d.Name.Name == "init" || d.Name.Name == "main") {
					continue
				}
				check(s, d.Doc, d.Name)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					doc := d.Doc
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						if d.Lparen.IsValid() {
							doc = spec.Doc
						}
						check(s, doc, spec.Name)
					case *ast.ValueSpec:
						if !d.Lparen.IsValid() {
							check(s, doc, spec.Names...)
						}
					}
				}
			}
		}
	}
}

// TestExportedIdentifiersAreDocumented: every exported identifier has a comment.
func TestExportedIdentifiersAreDocumented(t *testing.T) {
	for _, s := range sources(t) {
		if s.test() || s.file.Name.Name == "main" {
			continue
		}
		missing := func(identifier *ast.Ident) {
			t.Errorf("%s:%d: %s has no comment", s.path, s.line(identifier.Pos()), identifier.Name)
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Doc == nil && d.Name.IsExported() && (d.Recv == nil || exportedReceiver(d.Recv)) {
					missing(d.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						if d.Doc == nil && spec.Doc == nil && spec.Name.IsExported() {
							missing(spec.Name)
						}
					case *ast.ValueSpec:
						if d.Doc == nil && spec.Doc == nil && spec.Comment == nil && spec.Names[0].IsExported() {
							missing(spec.Names[0])
						}
					}
				}
			}
		}
	}
}

// exportedReceiver reports whether a method's receiver type is exported.
func exportedReceiver(receiver *ast.FieldList) bool { return ast.IsExported(receiverType(receiver)) }

// TestReceiversAreNamedAfterTheirTypes: a receiver is a prefix of a word in its type's name, or the initials of its
// words. Protocol messages may be m.
func TestReceiversAreNamedAfterTheirTypes(t *testing.T) {
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || len(f.Recv.List[0].Names) == 0 {
				continue
			}
			receiver, of := f.Recv.List[0].Names[0].Name, receiverType(f.Recv)
			if receiver == "_" || receiver == "m" && s.folder() == "protocol" {
				continue
			}
			initials, named := "", false
			for _, word := range wordsOf(of) {
				initials += word[:min(1, len(word))]
				named = named || strings.HasPrefix(word, strings.ToLower(receiver))
			}
			if !named && !strings.HasPrefix(initials, strings.ToLower(receiver)) {
				t.Errorf("%s:%d: the receiver %s of %s is named after something else", s.path, s.line(f.Pos()),
					receiver, of)
			}
		}
	}
}

// receiverType is the name of a method's receiver type.
func receiverType(receiver *ast.FieldList) string {
	of := receiver.List[0].Type
	for {
		switch x := of.(type) {
		case *ast.StarExpr:
			of = x.X
		case *ast.IndexExpr:
			of = x.X
		case *ast.IndexListExpr:
			of = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}
