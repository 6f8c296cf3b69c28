package settings

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write docs/settings.md and testdata anew")

func TestEveryFieldHasItsRowAndEveryRowItsField(t *testing.T) {
	tags := make(map[string]bool)
	kind := reflect.TypeFor[Settings]()
	for i := range kind.NumField() {
		field := kind.Field(i)
		tag := field.Tag.Get("yaml")
		if !field.IsExported() || tag == "-" {
			continue
		}
		if tag == "" || tags[tag] {
			t.Errorf("field %s has the tag %q", field.Name, tag)
		}
		tags[tag] = true
		// The row must set this field and no other.
		var s Settings
		text := map[string]string{"bool": "true", "int": "7", "Duration": "7s", "Size": "7", "Level": "error",
			"Parts": "all", "string": "text", "": "a=b:1"}
		if tag == "log-format" {
			text["string"] = "json"
		}
		if tag == "http-allowed-hosts" {
			text[""] = "box"
		}
		if tag == "http-trusted-proxies" {
			text[""] = "10.0.0.0/8"
		}
		if !hasRow(tag) {
			t.Errorf("field %s has no row %q in the table", field.Name, tag)
			continue
		}
		if err := rowOf(tag).field(&s).parse([]string{text[field.Type.Name()]}); err != nil {
			t.Errorf("%s: %v", tag, err)
		}
		for j := range kind.NumField() {
			if filled := !reflect.ValueOf(s).Field(j).IsZero(); filled != (i == j) {
				t.Errorf("%s: field %s filled: %v", tag, kind.Field(j).Name, filled)
			}
		}
	}
	for _, r := range table {
		if !tags[r.name] {
			t.Errorf("row %s has no field", r.name)
		}
	}
	if len(tags) != len(table) {
		t.Errorf("%d fields, %d rows", len(tags), len(table))
	}
}

func TestFlagVariableAndLineHaveTheSameName(t *testing.T) {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	AddFlags(set)
	flags := make(map[string]bool)
	set.VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
	delete(flags, "config")
	for _, r := range table {
		if !flags[r.name] {
			t.Errorf("no flag --%s", r.name)
		}
		delete(flags, r.name)
		if want := "SIGNALBOX_" + strings.ToUpper(strings.ReplaceAll(r.name, "-", "_")); r.variable() != want {
			t.Errorf("variable %s, want %s", r.variable(), want)
		}
	}
	if len(flags) > 0 {
		t.Errorf("flags without a setting: %v", flags)
	}
}

func TestAllThreeSourcesFillEverySetting(t *testing.T) {
	withMemory(t, 8<<30)
	dir := t.TempDir()
	pem := filepath.Join(dir, "some.pem")
	if err := os.WriteFile(pem, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{
		"name": "b", "data-dir": "elsewhere", "initial-hosts": "a=10.0.0.1:1,b=10.0.0.2:1", "cluster-name": "prod",
		"shards": "2",
		"listen": "127.0.0.1:6", "tls-listen": "127.0.0.1:7", "advertise": "box:7", "tls-cert": pem,
		"tls-key":       pem,
		"tls-client-ca": pem, "token-file": pem, "access-file": pem, "raft-listen": "127.0.0.1:1",
		"raft-advertise": "10.0.0.2:1",
		"raft-tls-cert":  pem, "raft-tls-key": pem, "raft-tls-ca": pem, "raft-secret-file": pem,
		"raft-heartbeat-interval": "40ms",
		"http-trusted-proxies":    "10.0.0.0/8,2001:db8::1/128",
		"raft-metrics":            "true", "raft-snapshot-bytes": "8MiB",
		"admin-listen": "127.0.0.1:8", "pprof": "true",
		"http-allowed-hosts": "box.example.com,box",
		"http-listen":        "127.0.0.1:9", "http-peer-ca": pem, "console-anonymous-writes": "true",
		"max-data-size":   "128KiB",
		"max-connections": "100", "max-requests-in-flight": "9",
		"max-watches": "10", "ping-interval": "5s", "max-output-buffer": "1GiB", "max-input-buffer": "16MiB",
		"memory-limit": "4GiB", "max-watch-memory": "64MiB", "shard-quota-objects": "5000", "shard-quota-bytes": "2GiB",
		"min-free-disk": "1GiB", "log-format": "json", "log-level": "warn", "insecure": "all",
		"join": "10.0.0.1:1,10.0.0.3:1", "join-token-file": "some.token", "replace": "c",
		"failure-domain": "dc=a,rack=1",
	}
	// Bootstrapping with others excludes joining, and an HTTP API cannot show client certificates.
	for _, without := range [][]string{
		{"join", "join-token-file", "replace", "http-listen", "http-peer-ca"}, {"initial-hosts", "tls-client-ca"},
	} {
		checkSources(t, texts, without)
	}
}

// checkSources checks that flags, variables and lines set the same settings, except some.
func checkSources(t *testing.T, texts map[string]string, without []string) {
	t.Helper()
	var args, environment []string
	var file strings.Builder
	for _, r := range table {
		text, ok := texts[r.name]
		if !ok {
			t.Fatalf("the test has no text for %s", r.name)
		}
		if slices.Contains(without, r.name) {
			continue
		}
		args = append(args, "--"+r.name+"="+text)
		environment = append(environment, r.variable()+"="+text)
		file.WriteString(r.name + ": \"" + text + "\"\n")
	}
	strip := func(s Settings) Settings { s.origins = nil; return s }
	byFlags := strip(mustLoad(t, args, nil, ""))
	for i := range table {
		if r := &table[i]; r.field(&byFlags).text() == r.fallback() && !slices.Contains(without, r.name) {
			t.Errorf("%s is what it was", r.name)
		}
	}
	if byVariables := strip(mustLoad(t, nil, environment, "")); !reflect.DeepEqual(byVariables, byFlags) {
		t.Errorf("by variables %+v\nby flags %+v", byVariables, byFlags)
	}
	if byLines := strip(mustLoad(t, nil, nil, file.String())); !reflect.DeepEqual(byLines, byFlags) {
		t.Errorf("by lines %+v\nby flags %+v", byLines, byFlags)
	}
}

func TestTheDefaultsInTheHelpAreTheOnesInForce(t *testing.T) {
	for name, constant := range map[string]string{"shards": "1", "listen": DefaultListen,
		"raft-listen": Off, "name": DefaultName} {
		if !strings.Contains(rowOf(name).fallback(), constant) {
			t.Errorf("the help of %s does not say %s", name, constant)
		}
	}
	if DefaultShards != 1 {
		t.Errorf("the help of shards says 1, the constant %d", DefaultShards)
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not current; go test ./server/settings -update writes it anew", path)
	}
}

func TestTheDocsAreCurrent(t *testing.T) {
	text := markdown()
	for _, r := range table {
		for _, name := range []string{"`" + r.name + "`", "`--" + r.name, "`" + r.variable() + "`"} {
			if !strings.Contains(text, name) {
				t.Errorf("the docs have no %s", name)
			}
		}
	}
	golden(t, filepath.Join("..", "..", "docs", "settings.md"), text)
}

func TestTheHelpIsWhatItWas(t *testing.T) {
	var b strings.Builder
	WriteUsage(&b)
	golden(t, filepath.Join("testdata", "usage.txt"), b.String())
}

func TestTheExampleFileLoads(t *testing.T) {
	dir := t.TempDir()
	file := strings.ReplaceAll(exampleFile, "/etc/signalbox", dir)
	for _, name := range []string{"a.pem", "a.key", "ca.pem", "access.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if s := mustLoad(t, nil, nil, file); len(s.InitialHosts) != 3 || s.HostID() != 1 {
		t.Errorf("got %+v", s)
	}
}
