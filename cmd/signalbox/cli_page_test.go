package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// TestTheReferenceIsCurrent compares docs/cli.md with what the commands say of themselves.
// go test ./cmd/signalbox -run Reference -update writes it anew.
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
			difference(string(was), page))
	}
	for _, name := range append(cli.Variables(), nodeVariable, lockVariable, electionVariable, fenceVariable,
		sessionVariable, countVariable, rolloutVariable, locationVariable, instanceVariable, gateVariable,
		versionVariable, generationVariable, labelVariable, attemptVariable, processVariable, epochVariable,
		memberVariable, coordinatorVariable, fromVariable, barrierVariable, partyVariable) {
		if !strings.Contains(page, name) {
			t.Errorf("%s says nothing of the variable %s", path, name)
		}
	}
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

// index lists all commands that are not below others.
func (p *pageWriter) index() {
	p.WriteString("| command | what it is for |\n| --- | --- |\n")
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

// anchor is where the page describes a command.
func anchor(c *cobra.Command) string { return strings.ReplaceAll(title(c), " ", "-") }

func title(c *cobra.Command) string {
	_, below, _ := strings.Cut(c.CommandPath(), " ")
	return below
}

// command writes what the help of a command says.
func (p *pageWriter) command(c *cobra.Command) {
	args := append(strings.Fields(title(c)), "--help")
	code, said, _ := command(nil, args...)
	if code != 0 {
		p.t.Errorf("%v: code %d", args, code)
	}
	fmt.Fprintf(p, "\n### %s\n", title(c))
	if c.Name() == "serve" {
		p.WriteString("\nIts settings are described in [settings](settings.md).\n")
		said = c.Long + "\n\nUsage:\n  signalbox serve [flags]\n\nExamples:\n" + c.Example + "\n" + demoUsage
	}
	p.text(said)
}

// topic writes a page of help that belongs to no command.
func (p *pageWriter) topic(heading, name, more string) {
	_, said, _ := command(nil, "help", name)
	fmt.Fprintf(p, "\n## %s\n", heading)
	p.text(said)
	p.WriteString(more)
}

// text writes something that was printed.
func (p *pageWriter) text(said string) {
	p.WriteString("\n```text\n")
	for line := range strings.Lines(strings.TrimSpace(said)) {
		p.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	p.WriteString("```\n")
}

// jsonOutputs are the objects that commands print. Those that testdata/scripts/json.txt has a part for are shown
// with an example.
var jsonOutputs = []struct {
	commands string
	object   any
}{
	{"node describe, create, alter, list", nodeObject{}},
	{"semaphore list", semaphoreObject{}},
	{"semaphore describe, create, resize", semaphoreDetails{}},
	{"semaphore acquire", grantObject{}},
	{"semaphore watch", viewObject{}},
	{"session list", sessionObject{}},
	{"session show", sessionDetails{}},
	{"discover list, register", endpointObject{}},
	{"discover watch", setObject{}},
	{"config get, watch", valueObject{}},
	{"elect --observe", leader{}},
	{"rollout create, alter, status", rolloutObject{}},
	{"rollout list", summaryObject{}},
	{"rollout why", reasonObject{}},
	{"rollout history", historyObject{}},
	{"rollout instances", instanceObject{}},
	{"rollout versions", versionObject{}},
	{"rollout acts", actObject{}},
	{"rollout plan", stepObject{}},
	{"rollout publish", publishedObject{}},
	{"rollout spec", specObject{}},
	{"process create, alter, status, watch", processObject{}},
	{"process list", processSummaryObject{}},
	{"process why", processReasonObject{}},
	{"process members", processMemberObject{}},
	{"process results", processResultObject{}},
	{"process acts", processActObject{}},
	{"backup save", savedObject{}},
	{"backup verify, show", backupObject{}},
	{"backup restore, cluster recover", madeObject{}},
	{"cluster recover --export", exportObject{}},
	{"process send", processReplyObject{}},
	{"context list", contextObject{}},
	{"context show", settingObject{}},
	{"status", statusObject{}},
	{"top", sample{}},
	{"who", waitObject{}},
	{"check", finding{}},
	{"inspect", directoryObject{}},
	{"host list", clusterHostObject{}}, {"host show", clusterHostObject{}}, {"host join-token", joinTokenObject{}},
	{"shard list", placementObject{}}, {"cluster describe", clusterObject{}}, {"cluster why", clusterWhyObject{}},
	{"cluster plan", clusterPlanObject{}}, {"cluster steps", clusterStepObject{}},
	{"cluster audit", entryObject{}}, {"cluster policy", policyObject{}}, {"cluster recover", exportObject{}},
	{"access list", principalObject{}}, {"access role list", roleObject{}}, {"access token create", tokenObject{}},
	{"access who-can, can", decisionObject{}}, {"access denials", denialObject{}},
	{"backup verify, show", backupObject{}}, {"backup restore", madeObject{}},
}

// json writes the fields of all objects that commands print.
func (p *pageWriter) json() {
	p.WriteString(pageJSON)
	examples := jsonExamples(p.t)
	for _, o := range jsonOutputs {
		fmt.Fprintf(p, "\n### %s: JSON\n\n", o.commands)
		first, _, _ := strings.Cut(o.commands, ",")
		if example := examples[first]; example != "" {
			fmt.Fprintf(p, "```json\n%s\n```\n\n", example)
		}
		delete(examples, first)
		p.WriteString("| field | value |\n| --- | --- |\n")
		p.fields("", reflect.TypeOf(o.object), make(map[reflect.Type]string))
	}
	if len(examples) > 0 {
		p.t.Errorf("these examples are of no command: %v", examples)
	}
}

// jsonExamples are the lines of JSON in the script that is there for them, by the command that prints them.
func jsonExamples(t *testing.T) map[string]string {
	text, err := os.ReadFile("testdata/scripts/json.txt")
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]string)
	of := ""
	for line := range strings.Lines(string(text)) {
		if said, ok := strings.CutPrefix(line, "# "); ok {
			of = strings.TrimSpace(said)
			found[of] = ""
		}
		if strings.HasPrefix(line, "{") {
			found[of] = strings.TrimSpace(line)
		}
	}
	for name, example := range found {
		if example == "" {
			t.Errorf("testdata/scripts/json.txt prints nothing for %s", name)
		}
	}
	return found
}

// fields writes a row for each field of a struct, and of the structs in it, once for each type of them.
func (p *pageWriter) fields(prefix string, of reflect.Type, told map[reflect.Type]string) {
	for i := range of.NumField() {
		field := of.Field(i)
		tag := field.Tag.Get("json")
		if field.Anonymous && tag == "" {
			p.fields(prefix, field.Type, told)
			continue
		}
		if tag == "" {
			continue
		}
		name, rest, _ := strings.Cut(tag, ",")
		value, inner := jsonValue(field.Type)
		if field.Type == reflect.TypeFor[[]byte]() {
			value = "text: base64 of what is not UTF-8"
		}
		before := told[inner]
		if inner != nil && before != "" {
			value += " like `" + before + "`"
		}
		if strings.Contains(rest, "omitempty") {
			value += "; left out where there is none"
		} else if field.Type.Kind() == reflect.Pointer {
			value += ", or null"
		}
		fmt.Fprintf(p, "| `%s%s` | %s |\n", prefix, name, value)
		if inner != nil && before == "" {
			told[inner] = prefix + name
			p.fields(prefix+name+".", inner, told)
		}
	}
}

// jsonValue says how a type is written as JSON, and which struct is in it.
func jsonValue(of reflect.Type) (value string, inner reflect.Type) {
	switch of {
	case reflect.TypeFor[cli.ID]():
		return "text: an id", nil
	case reflect.TypeFor[cli.Amount]():
		return `number, or "all"`, nil
	case reflect.TypeFor[level]():
		return `"ok", "warn" or "fail"`, nil
	case reflect.TypeFor[time.Time]():
		return "text: a time, RFC 3339", nil
	}
	switch of.Kind() {
	case reflect.Pointer:
		return jsonValue(of.Elem())
	case reflect.String:
		return "text", nil
	case reflect.Bool:
		return "true or false", nil
	case reflect.Map:
		return "object: texts by name", nil
	case reflect.Struct:
		return "object", of
	case reflect.Slice:
		if of.Elem().Kind() == reflect.Struct {
			return "list of objects", of.Elem()
		}
		element, _ := jsonValue(of.Elem())
		return "list, each a " + element, nil
	}
	return "number", nil
}

// TestTheReferenceHasAllJSON: what has names for JSON and is printed by a command is on the page.
func TestTheReferenceHasAllJSON(t *testing.T) {
	known := make(map[string]bool)
	var note func(reflect.Type)
	note = func(of reflect.Type) {
		for of.Kind() == reflect.Slice || of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct {
			return
		}
		known[of.Name()] = true
		for i := range of.NumField() {
			note(of.Field(i).Type)
		}
	}
	for _, o := range jsonOutputs {
		note(reflect.TypeOf(o.object))
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") })
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range structWithJSON.FindAllSubmatch(text, -1) {
			found++
			if !known[string(m[1])] {
				t.Errorf("%s: %s is printed as JSON, and jsonOutputs does not have it", file, m[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d types were found", found)
	}
}

var structWithJSON = regexp.MustCompile("(?m)^type (\\w+) struct {\n(?:[^}]*\n)?[^}]*`json:")

const pageStart = `# The tool

<!-- Made from the commands by: go test ./cmd/signalbox -run Reference -update -->

` + "`signalbox`" + ` is the server and every tool for it, in one binary. This page has what ` + "`signalbox COMMAND --help`" + ` says of each
command, how commands find a cluster, what they print, and the codes that they end with. Words are those of
[concepts](concepts.md).

`

const pageConnection = `
The variables, in one place; a host has [settings](settings.md) with variables of their own:

| variable | what it is for |
| --- | --- |
| ` + "`SIGNALBOX_ENDPOINTS`, `SIGNALBOX_TIMEOUT`" + ` | where the cluster is, and how long to wait for it |
| ` + "`SIGNALBOX_TOKEN`, `SIGNALBOX_CLIENT_TOKEN_FILE`" + ` | the token, or a file that has it |
| ` + "`SIGNALBOX_CLIENT_TLS`, `SIGNALBOX_CLIENT_TLS_CA`, `SIGNALBOX_CLIENT_TLS_CERT`, `SIGNALBOX_CLIENT_TLS_KEY`, `SIGNALBOX_CLIENT_TLS_SERVER_NAME`" + ` | TLS |
| ` + "`SIGNALBOX_CONTEXT`, `SIGNALBOX_CONTEXTS`" + ` | the context that counts, and the file that contexts are in |
| ` + "`SIGNALBOX_OUTPUT`" + ` | table, json or wide |
| ` + "`SIGNALBOX_FENCE`, `SIGNALBOX_SESSION`, `SIGNALBOX_NODE`, `SIGNALBOX_COUNT`" + ` | set for what [lock](#lock) and [elect](#elect) run: what it holds, and as whom |
| ` + "`SIGNALBOX_LOCK`, `SIGNALBOX_ELECTION`" + ` | set likewise: the name of the lock, or of the election |
| ` + "`SIGNALBOX_ROLLOUT`, `SIGNALBOX_VERSION`, `SIGNALBOX_LABEL`, `SIGNALBOX_GENERATION`, `SIGNALBOX_ATTEMPT`, `SIGNALBOX_LOCATION`, `SIGNALBOX_INSTANCE`, `SIGNALBOX_GATE`" + ` | set for what [rollout follow](#rollout-follow), [rollout gate](#rollout-gate) and [rollout source](#rollout-source) run, as far as they have a meaning there |
| ` + "`SIGNALBOX_PROCESS`, `SIGNALBOX_EPOCH`, `SIGNALBOX_MEMBER`, `SIGNALBOX_COORDINATOR`, `SIGNALBOX_FROM`" + ` | set for what [process run](#process-run) runs |
| ` + "`SIGNALBOX_BARRIER`, `SIGNALBOX_PARTY`" + ` | set for what [barrier](#barrier) runs, beside ` + "`SIGNALBOX_FENCE`" + ` |
`

const pageOutput = `
Commands that change something and have nothing to show say what they did on standard error, and print nothing.
`

const pageJSON = `
## JSON

What commands print with ` + "`-o json`" + `: one object on a line for each thing. A field with a dot is in the object, or in each
object of the list, of what stands before the dot. Fields may be added; those that are here stay.
`

const pageCompletion = `
### completion

` + "`signalbox completion bash`" + `, and likewise for zsh, fish and powershell, prints a script that makes the shell complete
commands, flags, the paths of nodes and the names in them. For one bash:

` + "```sh" + `
eval "$(signalbox completion bash)"
` + "```" + `

` + "`signalbox completion bash --help`" + ` tells where the script belongs so that every new shell has it.
`
