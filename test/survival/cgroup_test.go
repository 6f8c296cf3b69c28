//go:build linux

package survival_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/server/servertest/process"
)

// cgroup is a control group with a memory limit.
type cgroup struct {
	dir   string
	limit string // the file with the limit
	kills string // file with the count of OOM kills
}

// cgroupVersions are the files of each control group version that controls memory here. In a hybrid hierarchy, that is
// version 1.
var cgroupVersions = map[string]cgroup{
	"v1": {dir: "/sys/fs/cgroup/memory", limit: "memory.limit_in_bytes", kills: "memory.oom_control"},
	"v2": {dir: "/sys/fs/cgroup", limit: "memory.max", kills: "memory.events"},
}

// newCgroup creates a group with a limit. It skips the test without the required rights.
func newCgroup(t *testing.T, version, name string, bytes int) *cgroup {
	t.Helper()
	g := cgroupVersions[version]
	if version == "v2" {
		controllers, err := os.ReadFile(filepath.Join(g.dir, "cgroup.controllers"))
		if err != nil || !strings.Contains(string(controllers), "memory") {
			t.Skipf("no control group of version 2 has memory here: %q, %v", controllers, err)
		}
		_ = os.WriteFile(filepath.Join(g.dir, "cgroup.subtree_control"), []byte("+memory"), 0o600)
	}
	g.dir = filepath.Join(g.dir, fmt.Sprintf("signalbox-test-%d-%s", os.Getpid(), name))
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		t.Skipf("no control group of version %s can be made here: %v", version, err)
	}
	t.Cleanup(func() {
		for until := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
			err := os.Remove(g.dir) // possible only after its last process has ended
			if err == nil || errors.Is(err, os.ErrNotExist) {
				return
			}
			if time.Now().After(until) {
				t.Error(err)
				return
			}
		}
	})
	if err := os.WriteFile(filepath.Join(g.dir, g.limit), []byte(strconv.Itoa(bytes)), 0o600); err != nil {
		t.Skipf("a control group of version %s gets no limit of memory here: %v", version, err)
	}
	return &g
}

// confine runs a place's processes in the group, with a script that joins the group and then executes the program.
func (c *cgroup) confine(t *testing.T, p *place) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "signalbox-"+p.Name)
	text := fmt.Sprintf("#!/bin/sh\necho $$ > %s/cgroup.procs && exec %s \"$@\"\n", c.dir, p.Program.Path)
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	p.Program = process.Program{Path: script, Env: p.Program.Env}
}

// killed is the number of OOM kills in the group.
func (c *cgroup) killed(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, c.kills))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "oom_kill ")
	n, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]))
	if err != nil {
		t.Fatalf("%s of %s: %v", c.kills, text, err)
	}
	return n
}
