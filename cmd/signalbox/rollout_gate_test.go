package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// gateOf returns the only gate at location sas.
func (t *tool) gateOf(node string) rollout.GateState {
	t.t.Helper()
	return t.rollout(node).Locations[0].Gates[0]
}

func TestAGateIsCheckedWhenTheLeadersAreThere(t *testing.T) {
	x, node := rolloutTool(t, "--location", "sas:0s:errors", "--location", "man")
	ready := filepath.Join(x.dir, "ready")
	instance := x.follow(node, "sas", "while [ ! -e "+ready+" ]; do sleep 0.01; done; cat", "--leader")
	checker := x.start("rollout", "gate", node, "dns", "--location", "sas", "--gate", "errors", "--recheck-after",
		"10ms", "--",
		"sh", "-c", `payload=$(cat); echo "$payload $SIGNALBOX_VERSION $SIGNALBOX_GATE"
			case $payload in
			bad) echo too many errors; exit 1;;
			later) [ -e known ] || { touch known; echo not enough requests; exit 75; };;
			esac`)
	checker.remarks("checks errors for dns in sas\n")
	x.publish(node, "good")
	instance.remarks("follows")
	if g := x.gateOf(node); g.Verdict.Result != rollout.GatePending || checker.Output() != "" {
		t.Errorf("before the leader is there: %+v, %s", g, checker.Output())
	}
	if err := os.WriteFile(ready, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	checker.remarks("version 1: passed: good 1 errors\n")
	for _, c := range []struct{ payload, remark, verdict, text string }{
		{"later", "version 2: inconclusive: not enough requests\nsignalbox: version 2: passed: later 2 errors\n",
			"passed", "later 2 errors"},
		{"bad", "version 3: failed: exit status 1: too many errors\n", "failed", "exit status 1: too many errors"},
	} {
		x.publish(node, c.payload)
		checker.remarks(c.remark)
		checker.await("the verdict is kept", func() bool { return x.gateOf(node).Verdict.Result.String() == c.verdict })
		if g := x.gateOf(node); g.Verdict.Text != c.text || g.By != "ann@"+hostname(t) {
			t.Errorf("%s: %+v", c.payload, g)
		}
	}
	// An operator can override the verdict, and then other instances get the version.
	x.follow(node, "man", "cat")
	x.ok("rollout", "gate", node, "dns", "--location", "sas", "--gate", "errors", "--pass", "3", "--message", "no "+
		"errors")
	x.fails(cli.ExitState, "the target of sas is 3, not 2", "rollout", "gate", node, "dns", "--location", "sas",
		"--gate", "errors", "--fail", "2")
	checker.await("man gets it", func() bool {
		target := x.rollout(node).Locations[1].Target
		return target.Seq == 3
	})
	checker.endsBy(syscall.SIGTERM, cli.ExitDone)
}

func TestAGateThatIsNotThere(t *testing.T) {
	x, node := rolloutTool(t, "--location", "sas:0s:errors")
	for say, args := range map[string][]string{
		`version does not exist: gate "doors" in location "sas"`: {"--location", "sas", "--gate", "doors"},
		`version does not exist: gate "errors" in location "x"`:  {"--location", "x", "--gate", "errors"},
	} {
		r := x.run(append(append([]string{"rollout", "gate", node, "dns"}, args...), "--", "true")...)
		if r.code != cli.ExitNotFound || !strings.Contains(r.err, say) {
			t.Errorf("%v: %+v", args, r)
		}
	}
}

func TestASourceMakesVersions(t *testing.T) {
	x, node := rolloutTool(t, "--location", "sas", "--version-source", "requested", "--source-interval", "100ms")
	empty := filepath.Join(x.dir, "empty")
	source := x.start("rollout", "source", node, "dns", "--source", "feeder", "--label", "made", "--", "sh", "-c",
		"[ -e "+empty+` ] && { echo nothing yet >&2; exit 75; }; touch `+empty+`; echo "for $SIGNALBOX_ROLLOUT"`)
	source.remarks("feeder is a source of dns\n")
	instance := x.follow(node, "sas", "cat")
	instance.says("for dns\n")
	source.remarks("provided a version with 8 bytes\n")
	source.await("why there is no other is known", func() bool { return x.rollout(node).Declined == "nothing yet" })
	o := x.rollout(node)
	if o.LastSeq != 1 || o.Versions[0].Label != "made" || strings.Join(o.Sources, " ") != "feeder" {
		t.Errorf("%+v", o)
	}
	page := x.ok("rollout", "status", node, "dns")
	if !strings.Contains(page, "\nthe source provided no version: nothing yet\n") {
		t.Errorf("%s", page)
	}
	source.endsBy(os.Interrupt, cli.ExitDone)
	source.await("it is no source any more", func() bool { return len(x.rollout(node).Sources) == 0 })

	large := x.start("rollout", "source", node, "dns", "--", "head", "-c", "70000", "/dev/zero")
	large.remarks("no version: the command printed more than 65536 bytes\n")
	large.endsBy(syscall.SIGTERM, cli.ExitDone)
}
