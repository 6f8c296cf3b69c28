package tidy

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the files that follow from others anew")

// messagesFile is generated from messagesTable.
const messagesTable, messagesFile = "protocol/operations.go", "protocol/messages_gen.go"

// otherAnswers are the answers with names unlike their requests.
var otherAnswers = map[string]string{"Hello": "Welcome", "Ping": "Pong"}

// messagesHead begins the generated file, and answerHead the type Answer in the file.
const (
	messagesHead = `// Code generated from the table in operations.go by: go test ./test/tidy -run Messages -update. DO NOT EDIT.

package protocol

// Request is a message from a client, as a host reads it. The decoder fills the field that Kind names, and leaves all
// other fields unchanged.
type Request struct {
	Kind Kind
	ID   uint64

`
	answerHead = `// Answer is a message from a host, as a client reads it: the answer to a request, or a push. The decoder fills the
// field that Kind names, and leaves all other fields unchanged.
type Answer struct {
	Kind Kind
	// ID is the message's request id; 0 for a push without a request.
	ID uint64
	// Result is the outcome at an answer's head. After a failure the field that Kind names is zero. For a push
	// Result is always a success: a push with an outcome has a separate field for the outcome.
	Result Result

`
)

// TestMessagesFollowFromTheTable: the rows in protocol/operations.go determine message kinds, and message positions in
// Request and Answer.
func TestMessagesFollowFromTheTable(t *testing.T) {
	table, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(messagesTable)))
	if err != nil {
		t.Fatal(err)
	}
	compareGenerated(t, messagesFile, messagesOf(t, string(table)))
}

// compareGenerated compares a generated file with its expected content, or rewrites the file.
func compareGenerated(t *testing.T, file string, want []byte) {
	t.Helper()
	name := filepath.Join("..", "..", filepath.FromSlash(file))
	if *update {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what follows (%v): go test ./test/tidy -run Messages -update writes the file", file, err)
	}
}

// answerOf returns the field in Answer for the answer to a request, and the answer's type.
func answerOf(request string) (field, of string) {
	if other := otherAnswers[request]; other != "" {
		return other, other
	}
	return request, request + "Answer"
}

// formatted returns a source in gofmt form.
func formatted(t *testing.T, source string) []byte {
	t.Helper()
	text, err := format.Source([]byte(source))
	if err != nil {
		t.Fatalf("%v in\n%s", err, source)
	}
	return text
}

// rowsOf returns the message types in a source's tables, by table name: kind names without the word Kind.
func rowsOf(t *testing.T, source string) map[string][]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), messagesTable, source, 0)
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string][]string)
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			return true
		}
		list, ok := v.Values[0].(*ast.CompositeLit)
		if !ok {
			return true
		}
		for _, row := range list.Elts {
			key := row.(*ast.KeyValueExpr).Key
			if at, ok := key.(*ast.BinaryExpr); ok { // the distance from the first push
				key = at.X
			}
			kind := strings.TrimPrefix(key.(*ast.Ident).Name, "Kind")
			rows[v.Names[0].Name] = append(rows[v.Names[0].Name], kind)
		}
		return false
	})
	if len(rows["requests"]) == 0 || len(rows["pushes"]) == 0 {
		t.Fatalf("%s has no rows of requests, or none of pushes", messagesTable)
	}
	return rows
}

// messagesOf returns the file generated from the table's source.
func messagesOf(t *testing.T, table string) []byte {
	t.Helper()
	rows := rowsOf(t, table)
	requests, pushes := rows["requests"], rows["pushes"]
	out := bytes.NewBufferString(messagesHead)
	say := func(format string, args ...any) { fmt.Fprintf(out, format, args...) }
	for _, q := range requests {
		say("\t%s %s\n", q, q)
	}
	say("}\n\n%s", answerHead)
	for _, q := range requests {
		field, of := answerOf(q)
		say("\t%s %s\n", field, of)
	}
	say("\n")
	for _, p := range pushes {
		say("\t%s %s\n", p, p)
	}
	say("}\n\n// requestPlaces are the places of requests in Request, and of their answers in Answer.\n" +
		"var requestPlaces = [maxRequest2 + 1]requestPlace{\n")
	for _, q := range requests {
		field, _ := answerOf(q)
		say("\tKind%s: {func(r *Request) RequestMessage { return &r.%s },\n", q, q)
		say("\t\tfunc(a *Answer) AnswerMessage { return &a.%s }},\n", field)
	}
	say("}\n\n// pushPlaces are the places of pushes in Answer, by the distance from the first kind of a push.\n" +
		"var pushPlaces = [maxPush2 - minPush1 + 1]func(*Answer) PushMessage{\n")
	for _, p := range pushes {
		say("\tKind%s - minPush1: func(a *Answer) PushMessage { return &a.%s },\n", p, p)
	}
	say("}\n")
	for _, q := range requests {
		_, of := answerOf(q)
		say("\n// Kind returns Kind%s.\nfunc (*%s) Kind() Kind { return Kind%s }\n", q, q, q)
		say("\n// Kind returns the answer kind for a %s.\n", q)
		say("func (*%s) Kind() Kind { return Kind%s.Answer() }\n", of, q)
	}
	for _, p := range pushes {
		say("\n// Kind returns Kind%s.\nfunc (*%s) Kind() Kind { return Kind%s }\n", p, p, p)
	}
	return formatted(t, out.String())
}
