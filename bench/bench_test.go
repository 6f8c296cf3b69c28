package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// command runs a command line and returns its output.
func command(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	root := newRoot()
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func TestTheMatrixIsListed(t *testing.T) {
	out, err := command(t, "matrix", "--workloads", "lock-512,fsync", "--hosts", "1")
	if err != nil {
		t.Fatal(err)
	}
	want := "fsync              hosts [1]  [floor]\nlock-512           hosts [1]  [signalbox etcd zookeeper redis]\n"
	if out != want {
		t.Errorf("it is\n%swant\n%s", out, want)
	}
}

func TestWhatIsWrongIsSaidBeforeAnythingRuns(t *testing.T) {
	for want, args := range map[string][]string{
		`no workload is named "lokc"`:     {"run", "--workloads", "lokc"},
		`there is no contestant "consul"`: {"run", "--contestants", "consul"},
		"must be above zero":              {"run", "--rounds", "0"},
		"connections, kills, objects and": {"run", "--kills", "0"},
		"and sessions must be":            {"run", "--sessions", "0"},
		"the cycles must be above zero":   {"trace", "--cycles", "0"},
		`nothing is named "lokc"`:         {"trace", "--work", "lokc"},
		"there are 1 or 3 hosts":          {"trace", "--hosts", "2"},
		"pair: there are 1 or 3 hosts":    {"pair", "--hosts", "2"},
		"the pairs and the turn must be":  {"pair", "--pairs", "0"},
		"callers and flags are for":       {"pair", "--callers", "512"},
		`pair: nothing is named "lokc"`:   {"pair", "--work", "lokc"},
		`side: nothing is named "lokc"`:   {"side", "--work", "lokc"},
		"make a directory for data":       {"run", "--dir", "/nowhere/at/all"},
		"no --endpoints":                  {"drive", "etcd"},
		"it can be etcd, zookeeper or":    {"drive", "consul", "--endpoints", "127.0.0.1:1"},
	} {
		if _, err := command(t, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}

// TestARaceOfTheFloorIsReported runs the only workload that needs no other program.
func TestARaceOfTheFloorIsReported(t *testing.T) {
	out, err := command(t, "run", "--workloads", "fsync", "--rounds", "2", "--duration", "300ms", "--warmup", "0s",
		"--dir", t.TempDir(), "--output", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"round 2 of 2", "fsync", "floor", "bare proposals", "not measured"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

// TestWorkloadsTakeTurnsWithTheirFloorsAndWithAnotherBuild builds both programs, as sides and bare logs are processes.
func TestWorkloadsTakeTurnsWithTheirFloorsAndWithAnotherBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts hosts of Signalbox")
	}
	dir := t.TempDir()
	for program, at := range map[string][2]string{"bench": {".", "."}, "signalbox": {"..", "./cmd/signalbox"}} {
		build := exec.Command("go", "build", "-o", filepath.Join(dir, program), at[1])
		build.Dir = at[0]
		if said, err := build.CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, said)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "times the floor, at most 1.3"},
		{[]string{"--hosts", "3", "--work", "handoff"}, "a bare proposal, followed by an echo"},
		{[]string{"--work", "lock", "--callers", "200", "--beside", dir, "--flags=--shards,4"}, "the other build"},
	} {
		args := append([]string{"pair", "--signalbox", filepath.Join(dir, "signalbox"), "--dir", dir, "--pairs", "2",
			"--turn", "20ms"}, c.args...)
		said, err := exec.CommandContext(t.Context(), filepath.Join(dir, "bench"), args...).CombinedOutput()
		if err != nil || !strings.Contains(string(said), c.want) {
			t.Errorf("%v: %v\n%s", args, err, said)
		}
	}
}
