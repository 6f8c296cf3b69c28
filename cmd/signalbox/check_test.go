package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/status"
)

func TestCheckOfAHostThatRuns(t *testing.T) {
	p, _, _ := lockPlace(t)
	x := newTool(t, p.Client)
	disk := t.TempDir()
	r := x.run("check", "--disk", disk, "-o", "json")
	seen := make(map[string]string)
	for line := range strings.Lines(r.out) {
		var f struct{ Level, Subject, Found string }
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		seen[f.Subject] = f.Level
	}
	// How fast the disk is, and how busy the machine, is not for a test to say.
	for _, subject := range []string{"answers", "shards", "hosts", "rollouts", "rounds", "locks"} {
		if seen[subject] != "ok" {
			t.Errorf("%s is %q: %s", subject, seen[subject], r.out)
		}
	}
	if seen["disk at "+disk] == "" {
		t.Errorf("nothing of the disk: %s", r.out)
	}
	for _, part := range []string{
		"at worst, in ", "changes per second from one caller", "8 files written concurrently",
	} {
		if !strings.Contains(r.out, part) {
			t.Errorf("the report on the disk lacks %q: %s", part, r.out)
		}
	}
	if left, err := os.ReadDir(disk); err != nil || len(left) != 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
	r = x.run("check", "--disk", filepath.Join(disk, "none"), "--quiet")
	if r.code != status.ExitUnwell || !strings.Contains(r.out, "fail disk at ") || strings.Contains(r.out, "\nok ") ||
		strings.HasPrefix(r.out, "ok ") {
		t.Errorf("a disk that is not there: %+v", r)
	}
	r = newTool(t, "127.0.0.1:1").run("check")
	if r.code != status.ExitUnwell || !strings.Contains(r.out, "fail cluster: unreachable: ") {
		t.Errorf("a cluster that is not there: %+v", r)
	}
	if r := x.run("check", "--timeout", "nonsense"); r.code != cli.ExitUsage {
		t.Errorf("%+v", r)
	}
}
