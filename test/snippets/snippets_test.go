package snippets

import (
	"strings"
	"testing"
)

const page = "text\n" +
	"<!-- go: run -->\n```go\nfmt.Println(s.ID() > 0)\n// Output:\n// true\n```\n" +
	"```go\nc, err := client.Open(ctx, \"x\")\n```\n" +
	"```sh\nls\n```\n" +
	"<!-- go: module a/b -->\n```go\nx()\n```\n"

func TestBlocksAreFoundWithTheirMarkers(t *testing.T) {
	found := read("page.md", page)
	if len(found) != 3 || found[0].Mode != "run" || found[0].Line != 4 || found[1].Mode != "" ||
		found[2].Mode != "module" || found[2].Arg != "a/b" {
		t.Fatalf("found %+v", found)
	}
	if want, ok := found[0].wants(); !ok || want != "true" {
		t.Errorf("it wants %q, %v", want, ok)
	}
	if _, ok := found[1].wants(); ok {
		t.Error("a block without an output has one")
	}
}

func TestWhatDoesNotCompileIsReported(t *testing.T) {
	blocks := read("page.md", page)
	if err := Compile("../..", blocks[:2]); err != nil {
		t.Errorf("what compiles: %v", err)
	}
	for _, bad := range []string{"c.Opne(ctx)\n", "var x int = \"y\"\n", "return\n", "lock.Do(ctx)\n",
		"nosuch.Thing()\n", "if {\n"} {
		err := Compile("../..", []*Snippet{{Page: "page.md", Line: 7, Text: bad}})
		if err == nil || !strings.Contains(err.Error(), "page.md:7") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestTestsThatFailAreReported(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds tests")
	}
	const head = "package x_test\nimport \"testing\"\n"
	err := Test("../..", []*Snippet{
		{Page: "a.md", Line: 1, Text: head + "func TestX(t *testing.T) {}\n"},
		{Page: "b.md", Line: 1, Text: head + "func TestX(t *testing.T) { t.Error(\"no\") }\n"},
	})
	if err == nil || strings.Contains(err.Error(), "a.md") || !strings.Contains(err.Error(), "b.md") {
		t.Errorf("told: %v", err)
	}
}

func TestWhatPrintsSomethingElseIsReported(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a program")
	}
	err := Run("../..", []*Snippet{
		{Page: "a.md", Line: 1, Text: "fmt.Println(1)\n// Output:\n// 1\n"},
		{Page: "b.md", Line: 1, Text: "fmt.Println(1)\n// Output:\n// 2\n"},
		{Page: "c.md", Line: 1, Text: "fmt.Println(1)\n"},
		{Page: "d.md", Line: 1, Text: "return errors.New(\"no\")\n// Output:\n// 1\n"},
	})
	if err == nil || strings.Contains(err.Error(), "a.md") {
		t.Fatalf("told: %v", err)
	}
	for _, page := range []string{"b.md", "c.md", "d.md"} {
		if !strings.Contains(err.Error(), page) {
			t.Errorf("%s is not reported: %v", page, err)
		}
	}
}
