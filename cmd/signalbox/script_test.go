package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestScripts runs the command lines in testdata/scripts in a shell, each file against a separate host, and compares
// the output with the text below each command. A line from standard error begins with "! ", and an exit code other than
// 0 is in brackets. Session ids, times and addresses are replaced by placeholders. To update the files: go test
// ./cmd/signalbox -run Scripts -update
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/scripts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			p := newPlace(t)
			p.serve(t).awaitReady()
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			x := newTool(t, p.Client)
			x = x.with("PATH="+linkSignalbox(t)+":"+os.Getenv("PATH"), "LANG=C.UTF-8")
			got := x.script(string(want), strings.NewReplacer(p.Client, "HOST:PORT", x.dir, "FOLDER"))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got != string(want) {
				t.Errorf("%s is not what is printed; -update writes it anew:\n%s", file, Difference(string(want), got))
			}
		})
	}
}

// script runs a script's commands and returns the script with their output.
func (t *tool) script(text string, normal *strings.Replacer) string {
	t.t.Helper()
	var b strings.Builder
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "# "):
			b.WriteString("\n" + line)
		case strings.HasPrefix(line, "$ "):
			printed := normal.Replace(t.shell(strings.TrimSpace(line[2:])))
			printed = idInJSON.ReplaceAllString(printed, `${1}"11240984669916758017"`)
			printed = timeInJSON.ReplaceAllString(printed, `${1}"2026-03-01T12:00:00.123Z"`)
			printed = ageInJSON.ReplaceAllString(printed, `${1}1500`)
			printed = momentInJSON.ReplaceAllString(printed, `"set":true,"age_ms":1500,"shard_time_ms":1500`)
			printed = lastAct.ReplaceAllString(printed, "last act, 2s ago")
			printed = wallInText.ReplaceAllString(printed, "2026-03-01T12:00:00Z")
			printed = clientInTable.ReplaceAllString(printed, "127.0.0.1:51234")
			printed = processInText.ReplaceAllString(printed, "process 7 on box")
			printed = addressInJSON.ReplaceAllString(printed, `"address":"127.0.0.1:51234"`)
			b.WriteString(line + versionInJSON.ReplaceAllString(printed, `${1}"1.4.0"`))
		}
	}
	return strings.TrimPrefix(b.String(), "\n")
}

// idInJSON finds session ids in JSON, whose slots are random. An id in slot 0 is as small as other kinds of id, so the
// preceding field gives the kind.
var idInJSON = regexp.MustCompile(`("session_id":|"node":"[^"]*","id":)"[0-9]+"`)

// Patterns for times, client addresses and client versions.
var (
	timeInJSON    = regexp.MustCompile(`("[a-z_]+":)"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"`)
	momentInJSON  = regexp.MustCompile(`"set":true(?:,"(?:age|shard_time)_ms":[0-9]+)*`)
	ageInJSON     = regexp.MustCompile(`("(?:waited|age)_ms":)[0-9]+`)
	lastAct       = regexp.MustCompile(`last act, \S+ ago`)
	addressInJSON = regexp.MustCompile(`"address":"127\.0\.0\.1:[0-9]+"`)
	wallInText    = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	clientInTable = regexp.MustCompile(`127\.0\.0\.1:[0-9]{5}`)
	processInText = regexp.MustCompile(`process [0-9]+ on [^"\s]+`)
	versionInJSON = regexp.MustCompile(`("client":\{[^}]*"version":)"[^"]+"`)
)

// shell runs a command line in a shell, in the tool's folder.
func (t *tool) shell(line string) string {
	t.t.Helper()
	c := exec.Command("sh", "-c", line)
	c.Env, c.Dir = processEnvironment(t.env...), t.dir
	var out, stderr bytes.Buffer
	c.Stdout, c.Stderr = &out, &stderr
	err := c.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.t.Fatalf("%s: %v", line, err)
	}
	text := out.String()
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\\\n" // the output had no final newline
	}
	for l := range strings.Lines(stderr.String()) {
		text += "! " + l
	}
	if code := c.ProcessState.ExitCode(); code != 0 {
		text += fmt.Sprintf("[%d]\n", code)
	}
	return text
}

// Difference returns the first difference between two texts.
func Difference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d\nwant %q\ngot  %q", i+1, w[i], g[i])
		}
	}
	return fmt.Sprintf("want %d lines, got %d", len(w), len(g))
}
