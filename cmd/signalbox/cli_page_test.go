package main

import (
	"bytes"
	"encoding"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client/discovery"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/access"
	"github.com/signalbox/signalbox/cmd/signalbox/backup"
	"github.com/signalbox/signalbox/cmd/signalbox/contexts"
	"github.com/signalbox/signalbox/cmd/signalbox/hosts"
	"github.com/signalbox/signalbox/cmd/signalbox/inspect"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/process"
	rolloutroom "github.com/signalbox/signalbox/cmd/signalbox/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/semaphore"
	"github.com/signalbox/signalbox/cmd/signalbox/serve"
	"github.com/signalbox/signalbox/cmd/signalbox/status"
	"github.com/signalbox/signalbox/internal/apijson"
)

// TestTheReferenceIsCurrent compares docs/cli.md with the commands' help. To update the page: go test ./cmd/signalbox
// -run Reference -update
func TestTheReferenceIsCurrent(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "cli.md")
	page := newCLIPage(t).write()
	if *update {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	was, _ := os.ReadFile(path)
	if string(was) != page {
		t.Errorf("%s is not current; go test ./cmd/signalbox -run Reference -update writes it anew:\n%s", path,
			Difference(string(was), page))
	}
	for _, name := range append(cli.Variables(), variablesOfCommands(t)...) {
		if !strings.Contains(page, name) {
			t.Errorf("%s says nothing of the variable %s", path, name)
		}
	}
}

// variablesOfCommands returns the environment variables that the commands' source declares as constants.
func variablesOfCommands(t *testing.T) (names []string) {
	t.Helper()
	constant := regexp.MustCompile(`= +"(SIGNALBOX_[A-Z_]+)"`)
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range constant.FindAllStringSubmatch(string(text), -1) {
			names = append(names, found[1])
		}
		return err
	})
	if err != nil || len(names) < 20 {
		t.Fatalf("%v, of %v", err, names)
	}
	return names
}

// pageWriter writes docs/cli.md.
type pageWriter struct {
	t    *testing.T
	root *cobra.Command
	bytes.Buffer
}

func newCLIPage(t *testing.T) *pageWriter {
	root := newRoot(cli.Streams{})
	root.InitDefaultCompletionCmd()
	return &pageWriter{t: t, root: root}
}

// write returns the page.
func (p *pageWriter) write() string {
	p.WriteString(pageStart)
	p.index()
	p.topic("Which cluster", "connection", pageConnection)
	p.topic("What is printed", "output", pageOutput)
	p.json()
	p.topic("Exit codes", "exit-codes", "")
	for _, group := range p.root.Groups() {
		fmt.Fprintf(p, "\n## %s\n", group.Title)
		for _, c := range p.root.Commands() {
			if c.GroupID != group.ID {
				continue
			}
			if c.Name() == "completion" {
				p.WriteString(pageCompletion)
			}
			for _, each := range everyCommand(c) {
				p.command(each)
			}
		}
	}
	return p.String()
}

// index lists all top-level commands.
func (p *pageWriter) index() {
	p.WriteString("| command | purpose |\n| --- | --- |\n")
	for _, group := range p.root.Groups() {
		for _, c := range p.root.Commands() {
			if c.GroupID != group.ID || c.Name() == "help" {
				continue
			}
			var below []string
			for _, each := range c.Commands() {
				if c.Name() != "completion" {
					below = append(below, fmt.Sprintf("[%s](#%s)", each.Name(), anchor(each)))
				}
			}
			name := fmt.Sprintf("[`%s`](#%s)", c.Name(), anchor(c))
			if len(below) > 0 {
				name += ": " + strings.Join(below, ", ")
			}
			fmt.Fprintf(p, "| %s | %s |\n", name, c.Short)
		}
	}
}

// anchor is the page anchor for a command.
func anchor(c *cobra.Command) string { return strings.ReplaceAll(title(c), " ", "-") }

func title(c *cobra.Command) string {
	_, below, _ := strings.Cut(c.CommandPath(), " ")
	return below
}

// command writes a command's help.
func (p *pageWriter) command(c *cobra.Command) {
	args := append([]string{"help"}, strings.Fields(title(c))...)
	code, said, _ := command(nil, args...)
	if code != 0 {
		p.t.Errorf("%v: code %d", args, code)
	}
	fmt.Fprintf(p, "\n### %s\n", title(c))
	if c.Name() == "serve" {
		p.WriteString("\nIts settings are described in [settings](settings.md).\n")
		said = c.Long + "\n\nUsage:\n  signalbox serve [flags]\n\nExamples:\n" + c.Example + "\n" + serve.DemoUsage
	}
	p.text(said)
}

// topic writes a help page that belongs to no command.
func (p *pageWriter) topic(heading, name, more string) {
	_, said, _ := command(nil, "help", name)
	fmt.Fprintf(p, "\n## %s\n", heading)
	p.text(said)
	p.WriteString(more)
}

// text writes printed output.
func (p *pageWriter) text(said string) {
	p.WriteString("\n```text\n")
	for line := range strings.Lines(strings.TrimSpace(said)) {
		p.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	p.WriteString("```\n")
}

// ownObjects are JSON objects that only commands print, without an HTTP API route.
var ownObjects = []struct {
	commands string
	object   any
}{
	{"semaphore acquire", semaphore.Acquired{}}, {"semaphore watch", semaphore.ChangedView{}}, {"who", status.Wait{}},
	{"discover watch", discovery.Set{}}, {"process results", process.WholeResult{}},
	{"process send", process.MemberReply{}}, {"rollout history", rolloutroom.PastTarget{}},
	{"rollout plan", rollout.Step{}}, {"status", status.Status{}}, {"top", status.Sample{}},
	{"check", status.Finding{}}, {"access can", access.Verdict{}}, {"backup save", backup.Saved{}},
	{"backup verify, show", backup.Object{}}, {"backup restore, cluster recover", backup.Made{}},
	{"cluster recover --export", backup.Export{}}, {"context list", contexts.Object{}},
	{"context show", contexts.Setting{}},
	{"inspect", inspect.Object{}}, {"host adopt-data-dir", hosts.Moved{}}, {"version", buildObject{}},
}

// json writes the table of commands and routes, the examples, and the fields of ownObjects.
func (p *pageWriter) json() {
	p.WriteString(pageJSON)
	for _, a := range answers {
		commands := strings.Join(strings.Fields(a.command)[:a.words], " ")
		adds := ""
		if a.adds != "" {
			adds = "`" + strings.ReplaceAll(a.adds, " ", "`, `") + "`"
		}
		part := a.part
		if part != "" {
			part = "`" + part + "`"
		}
		fmt.Fprintf(p, "| `%s` | `%s` | %s | %s |\n", commands, a.routeOnly(), part, adds)
	}
	p.WriteString("\nAll other objects with their fields; `[]` marks the fields of list items:\n\n" +
		"| command | fields |\n| --- | --- |\n")
	for _, o := range ownObjects {
		fmt.Fprintf(p, "| `%s` | `%s` |\n", strings.ReplaceAll(o.commands, ", ", "`, `"),
			strings.Join(fieldNames("", reflect.TypeOf(o.object)), "`, `"))
	}
	p.WriteString("\nExamples:\n\n```sh\n")
	for _, e := range jsonExamples(p.t) {
		p.WriteString(e)
	}
	p.WriteString("```\n")
}

// fieldNames returns the fields of a structure, nested structures included.
func fieldNames(prefix string, of reflect.Type) (names []string) {
	for _, f := range apijson.Fields(of) {
		name, inner := prefix+f.Name, f.Of
		switch reflect.Zero(inner).Interface().(type) {
		case encoding.TextMarshaler, time.Time:
			names = append(names, name)
			continue
		case interface{ Names() []string }:
			name += "[]"
		}
		for inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer {
			if inner.Kind() == reflect.Slice && inner.Elem().Kind() != reflect.Uint8 {
				name += "[]"
			}
			inner = inner.Elem()
		}
		names = append(names, name)
		if inner.Kind() == reflect.Struct {
			names = append(names[:len(names)-1], fieldNames(name+".", inner)...)
		}
	}
	return names
}

// jsonExamples returns the single-line commands from the JSON example script, with their output.
func jsonExamples(t *testing.T) (examples []string) {
	text, err := os.ReadFile("testdata/scripts/json.txt")
	if err != nil {
		t.Fatal(err)
	}
	of := ""
	for line := range strings.Lines(string(text)) {
		if said, ok := strings.CutPrefix(line, "# "); ok {
			of = strings.TrimSpace(said)
		}
		if strings.HasPrefix(line, "{") && of != "" {
			examples = append(examples, "# "+of+"\n"+line)
			of = ""
		}
	}
	if len(examples) < 10 {
		t.Errorf("there are only %d examples", len(examples))
	}
	return examples
}

const pageStart = `# Command line

<!-- Made from the commands by: go test ./cmd/signalbox -run Reference -update -->

` + "`signalbox`" + ` is the server and all its tools in one binary. This page has the help texts of all commands
(` + "`signalbox help COMMAND`" + `), and describes how commands find a cluster, their output, and their exit codes.
[Concepts](concepts.md) explains the terms.

`

const pageConnection = `
All variables; a host has [settings](settings.md) with separate variables:

| variable | meaning |
| --- | --- |
| ` + "`SIGNALBOX_ENDPOINTS`, `SIGNALBOX_TIMEOUT`" + ` | the cluster's addresses, and the maximum wait for the cluster |
| ` + "`SIGNALBOX_TOKEN`, `SIGNALBOX_CLIENT_TOKEN_FILE`" + ` | the token, or a file with the token |
| ` + "`SIGNALBOX_CLIENT_TLS`, `SIGNALBOX_CACERT`, `SIGNALBOX_CLIENT_TLS_CERT`, `SIGNALBOX_CLIENT_TLS_KEY`, `SIGNALBOX_CLIENT_TLS_SERVER_NAME`" + ` | TLS |
| ` + "`SIGNALBOX_CONTEXT`, `SIGNALBOX_CONTEXT_FILE`" + ` | the context to use, and the file with all contexts |
| ` + "`SIGNALBOX_OUTPUT`" + ` | table, json or wide |
| ` + "`SIGNALBOX_FENCE`, `SIGNALBOX_SESSION`, `SIGNALBOX_NODE`, `SIGNALBOX_COUNT`" + ` | set for commands run by [lock](#lock) and [elect](#elect): fencing token, session, node and units |
| ` + "`SIGNALBOX_LOCK`, `SIGNALBOX_ELECTION`" + ` | set for commands run by [lock](#lock) or [elect](#elect): the lock's or the election's name |
| ` + "`SIGNALBOX_ROLLOUT`, `SIGNALBOX_VERSION`, `SIGNALBOX_LABEL`, `SIGNALBOX_GENERATION`, `SIGNALBOX_ATTEMPT`, `SIGNALBOX_LOCATION`, `SIGNALBOX_INSTANCE`, `SIGNALBOX_GATE`" + ` | set, if applicable, for commands run by [rollout follow](#rollout-follow), [rollout gate](#rollout-gate) and [rollout source](#rollout-source) |
| ` + "`SIGNALBOX_PROCESS`, `SIGNALBOX_EPOCH`, `SIGNALBOX_MEMBER`, `SIGNALBOX_COORDINATOR`, `SIGNALBOX_FROM`" + ` | set for commands run by [process run](#process-run) |
| ` + "`SIGNALBOX_BARRIER`, `SIGNALBOX_PARTY`" + ` | set, with ` + "`SIGNALBOX_FENCE`" + `, for commands run by [barrier](#barrier) |
`

const pageOutput = `
Commands without a result print a confirmation on standard error, and nothing on standard output.
`

const pageJSON = `
## JSON

With ` + "`-o json`" + `, commands print the [HTTP API](http.md)'s answers: an object on one line, or a line per list item. A
test checks that both are equal. Commands without a result print ` + "`{\"changed\":true}`" + `. The OpenAPI document,
` + "`GET /v1/openapi.json`" + `, has the schemas of all answers.

| command | answer of | part of the answer | additional fields |
| --- | --- | --- | --- |
`

const pageCompletion = `
### completion

` + "`signalbox completion bash`" + ` prints a completion script; zsh, fish and powershell are also supported. The shell then
completes commands, flags, node paths and the names in a node. For the current bash:

` + "```sh" + `
eval "$(signalbox completion bash)"
` + "```" + `

` + "`signalbox completion bash --help`" + ` explains how to install the script for every new shell.
`
