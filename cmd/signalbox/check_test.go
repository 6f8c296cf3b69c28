package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/protocol/concern"
)

func TestCheckJudgesWhatHostsSay(t *testing.T) {
	blocked := concern.New(concern.RolloutBlocked, concern.About{Node: "/prod", Name: "web"}, "no leaders in eu")
	blocked.WaitsFor, blocked.More = "leaders in eu", 2
	for what, c := range map[string]struct {
		list    admin.Concerns
		subject string
		want    level
		found   string
	}{
		"nothing":     {admin.Concerns{Asked: 3}, "rollouts", levelOK, "nothing to look at"},
		"one is away": {away(3, 1), "answers", levelWarn, "1 of 3 have not said what they see: a:1 (gone)"},
		"two are":     {away(3, 2), "answers", levelFail, "2 of 3 have not said what they see: a:1 (gone); a:1 (gone)"},
		"a rollout is blocked": {admin.Concerns{Asked: 1, Items: []admin.Concern{blocked}}, "rollout web in /prod",
			levelWarn, "no leaders in eu; so it is with 2 more; waits for leaders in eu"},
		"a majority is lost": {admin.Concerns{Asked: 1, Items: []admin.Concern{concern.New(concern.NoMajority,
			concern.About{Shards: []string{"0", "1"}}, "1 of 3 voters answer")}}, "shards meta, 1", levelFail,
			"1 of 3 voters answer"},
		"a host is drained": {admin.Concerns{Asked: 1, Items: []admin.Concern{concern.New(concern.Drained,
			concern.About{Host: "d"}, "host d is drained")}}, "host d", levelOK, "host d is drained"},
	} {
		var x findings
		judgeConcerns(&c.list, &x)
		met := false
		for _, f := range x.list {
			if f.Subject == c.subject {
				met = f.Level == c.want && f.Found == c.found
			}
		}
		if !met || x.worst() != c.want {
			t.Errorf("%s: %+v", what, x.list)
		}
	}
}

// TestWhatNoHostCanKnowIsNotWell: rollouts, rounds and locks are known to the leader of their shard.
func TestWhatNoHostCanKnowIsNotWell(t *testing.T) {
	for _, kind := range []concern.Kind{concern.NoMajority, concern.NoLeader} {
		var x findings
		judgeConcerns(&admin.Concerns{Asked: 1, Items: []admin.Concern{
			concern.New(kind, concern.About{Shards: []string{"1"}}, "a leader is missing"),
		}}, &x)
		unknown := 0
		for _, f := range x.list {
			if f.Level == levelWarn && f.Found == "not known while a shard has no leader" {
				unknown++
			}
		}
		if unknown != 3 {
			t.Errorf("%s: %+v", kind, x.list)
		}
	}
	silent := away(3, 1)
	var x findings
	judgeConcerns(&silent, &x)
	if last := x.list[len(x.list)-1]; last.Found != "nothing to look at, by those that answer" {
		t.Errorf("where a host is silent check says %+v", last)
	}
}

// away is the list of a cluster of which so many hosts do not answer.
func away(of, silent int) admin.Concerns {
	list := admin.Concerns{Asked: of}
	for range silent {
		list.Unanswered = append(list.Unanswered, admin.Unanswered{Address: "a:1", Reason: "gone"})
	}
	return list
}

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
	if left, err := os.ReadDir(disk); err != nil || len(left) != 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
	r = x.run("check", "--disk", filepath.Join(disk, "none"), "--quiet")
	if r.code != exitUnwell || !strings.Contains(r.out, "fail disk at ") || strings.Contains(r.out, "\nok ") ||
		strings.HasPrefix(r.out, "ok ") {
		t.Errorf("a disk that is not there: %+v", r)
	}
	r = newTool(t, "127.0.0.1:1").run("check")
	if r.code != exitUnwell || !strings.Contains(r.out, "fail cluster: it cannot be asked: ") {
		t.Errorf("a cluster that is not there: %+v", r)
	}
	if r := x.run("check", "--timeout", "nonsense"); r.code != cli.ExitUsage {
		t.Errorf("%+v", r)
	}
}
