package main

import (
	"os"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/client/rollout"
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
		o := parsed[rollout.State](t, line)
		if o.Exists && o.Revision < revision {
			t.Errorf("revision %d, after %d: %s", o.Revision, revision, line)
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
	x.fails(cli.ExitState, "use --force to delete it anyway", "rollout", "delete", node, "dns")
	x.fails(cli.ExitUsage, "this deletes rollout dns in node "+node+" with 1 instance", "rollout", "delete", node,
		"dns", "--force")
	x.ok("rollout", "delete", node, "dns", "--force", "--yes")
	// The instance rejoins when the rollout exists again.
	x.ok("rollout", "create", node, "dns", "--location", "sas")
	x.publish(node, "again")
	s.says("again\n")
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
		{[]string{"rollout", "create", node, "--version-source", ""}, "published requested"},
		{[]string{"rollout", "plan", node, "dns", "--action", ""},
			"pause resume promote abort rollback bypass unbypass withdraw retry"},
		{[]string{"rollout", "status", "/none", ""}, ""},
	} {
		x.completes(c.want, c.args...)
	}
}
