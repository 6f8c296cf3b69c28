package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

func TestAWatchOfARolloutPrintsWhatHappens(t *testing.T) {
	x, node := rolloutTool(t, "--location", "sas", "--location", "man:200ms")
	lines := x.start("rollout", "status", node, "dns", "--watch")
	objects := x.start("rollout", "status", node, "dns", "-w", "-o", "json")
	lines.says("dns        create by ann@")
	for _, location := range []string{"sas", "man"} {
		x.follow(node, location, "cat >/dev/null", "--leader")
	}
	x.publish(node, "zones", "--label", "r1")
	for _, line := range []string{
		"\ndns        the newest is version 1 (r1)\n", "\nsas        gets version 1 (r1): ",
		"\nsas        has reached version 1 (r1) after ", "\nman        gets version 1 (r1): ",
		"\nman        has reached version 1 (r1) after ",
	} {
		lines.says(line)
	}
	x.ok("rollout", "pause", node, "dns", "--author", "bob", "--reason", "wait")
	lines.says("\ndns        pause by bob: wait\ndns        paused\n")
	objects.says(`"phase":"paused"`)
	x.ok("rollout", "delete", node, "dns", "--force", "--yes")
	lines.says("\ndns        is deleted\n")
	objects.says(`"exists":false`)
	lines.endsBy(os.Interrupt, cli.ExitDone)
	objects.endsBy(os.Interrupt, cli.ExitDone)
	var revision uint64
	for line := range strings.Lines(objects.Output()) {
		var o rolloutObject
		if err := json.Unmarshal([]byte(line), &o); err != nil || o.Exists && o.Revision < revision {
			t.Errorf("%v: revision %d, after %d: %s", err, o.Revision, revision, line)
		}
		revision = o.Revision
	}
}

func TestAWatchOfARolloutThatIsNotThere(t *testing.T) {
	x, node := sharedTool(t)
	s := x.start("rollout", "status", node, "dns", "-w")
	s.says("dns        does not exist\n")
	x.ok("rollout", "create", node, "dns", "--location", "sas")
	s.says("dns        create by ")
	x.fails(cli.ExitNotFound, "no rollout of this name", "rollout", "status", node, "other")
	x.ok("node", "drop", node, "--yes")
	if code := s.wait(patience); code != cli.ExitNotFound {
		t.Errorf("its node is dropped: code %d", code)
	}
}

func TestARolloutThatIsInUseIsDeletedByForce(t *testing.T) {
	x, node := rolloutTool(t, "--location", "sas")
	s := x.follow(node, "sas", "cat; echo")
	x.fails(cli.ExitState, "--force deletes it all the same", "rollout", "delete", node, "dns")
	x.fails(cli.ExitUsage, "this deletes rollout dns of node "+node+" with 1 instance", "rollout", "delete", node,
		"dns", "--force")
	x.ok("rollout", "delete", node, "dns", "--force", "--yes")
	// The instance takes part again when there is a rollout again.
	x.ok("rollout", "create", node, "dns", "--location", "sas")
	x.publish(node, "again")
	s.says("again\n")
}

func TestCheckFindsRolloutsThatWait(t *testing.T) {
	p, _, _ := lockPlace(t)
	x := newTool(t, p.Client)
	check := func(want string) {
		t.Helper()
		if r := x.run("check", "--admin", p.Admin); !strings.Contains(r.out, want) {
			t.Errorf("it says\n%s\nand not\n%s", r.out, want)
		}
	}
	if r := x.run("check", "--admin", p.Admin); strings.Contains(r.out, "rollouts") {
		t.Errorf("there are none: %s", r.out)
	}
	x.ok("rollout", "create", "/jobs", "dns", "--location", "sas", "--location", "man", "--progress-deadline", "10ms")
	check("ok   halted rollouts: none of 1\nok   stuck rollouts: none of 1\n")
	x.follow("/jobs", "sas", "exit 75", "--leader")
	x.publish("/jobs", "zones")
	p.tool(t, "rollout", "status", "/jobs", "dns", "-w").says("\nsas        is stuck\n")
	check("ok   halted rollouts: none of 1\nwarn stuck rollouts: these have not reached their targets in time: " +
		"dns (sas) in /jobs\n")
	x.ok("rollout", "abort", "/jobs", "dns", "--reason", "enough")
	check("warn halted rollouts: these wait for an operator: dns in /jobs\n")
}

func TestTheShellCompletesPartsOfRollouts(t *testing.T) {
	x, node := rolloutTool(t, "--location", "sas:0s:errors,latency", "--location", "man")
	x.publish(node, "one")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"rollout", "status", node, ""}, "dns"},
		{[]string{"rollout", "pause", node, "x"}, ""},
		{[]string{"rollout", "history", node, "dns", "m"}, "man"},
		{[]string{"rollout", "promote", node, "dns", "--location", ""}, "sas man"},
		{[]string{"rollout", "rollback", node, "dns", "--to", ""}, "1"},
		{[]string{"rollout", "withdraw", node, "dns", ""}, "1"},
		{[]string{"rollout", "gate", node, "dns", "--location", "sas", "--gate", ""}, "errors latency"},
		{[]string{"rollout", "gate", node, "dns", "--location", "man", "--gate", ""}, ""},
		{[]string{"rollout", "create", node, "--source", ""}, "asked published"},
		{[]string{"rollout", "plan", node, "dns", "--act", ""}, strings.Join(verbNames(), " ")},
		{[]string{"rollout", "status", "/none", ""}, ""},
	} {
		x.completes(c.want, c.args...)
	}
}
