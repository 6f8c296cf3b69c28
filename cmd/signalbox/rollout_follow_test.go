package main

import (
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// rolloutTool returns a tool, and the path to a node with the rollout dns and the given flags.
func rolloutTool(t *testing.T, flags ...string) (x *tool, node string) {
	t.Helper()
	x, node = sharedTool(t)
	x = x.with("USER=ann")
	x.ok(append([]string{"rollout", "create", node, "dns"}, flags...)...)
	return x, node
}

// follow starts an instance, and waits until the instance has joined.
func (t *tool) follow(node, location, script string, flags ...string) *task {
	t.t.Helper()
	args := append([]string{"rollout", "follow", node, "dns", "--location", location, "--instance", "a." + location},
		flags...)
	s := t.start(append(args, "--", "sh", "-c", script)...)
	s.remarks("a." + location + " follows dns in " + location + "\n")
	return s
}

// rollout returns status's output.
func (t *tool) rollout(node string) rollout.State {
	t.t.Helper()
	return parsed[rollout.State](t.t, t.ok("rollout", "status", node, "dns", "-o", "json"))
}

// publish publishes a version.
func (t *tool) publish(node, payload string, flags ...string) {
	t.t.Helper()
	t.ok(append([]string{"rollout", "publish", node, "dns", payload}, flags...)...)
}

// instance returns the only instance that instances prints.
func (t *tool) instance(node string) rollout.InstanceState {
	t.t.Helper()
	return parsed[rollout.InstanceState](t.t, t.ok("rollout", "instances", node, "dns", "-o", "json"))
}

func TestAVersionGoesFromLocationToLocation(t *testing.T) {
	x, node := rolloutTool(t, "--location", "sas", "--location", "man:300ms")
	const script = `echo "$(cat) $SIGNALBOX_VERSION $SIGNALBOX_LABEL $SIGNALBOX_LOCATION $SIGNALBOX_INSTANCE ` +
		`$SIGNALBOX_ROLLOUT $SIGNALBOX_ATTEMPT $SIGNALBOX_NODE"`
	sas := x.follow(node, "sas", script, longSession...)
	man := x.follow(node, "man", script, append([]string{"--leader"}, longSession...)...)
	x.publish(node, "zones", "--label", "r1", "--reason", "a start")
	sas.says("zones 1 r1 sas a.sas dns 1 " + node + "\n")
	man.says("zones 1 r1 man a.man dns 1 " + node + "\n")
	man.remarks("version 1 (r1) is in use\n")
	o := x.rollout(node)
	for _, l := range o.Locations {
		if l.Target.Seq != 1 || !l.Target.Reached.Happened || l.Leaders != 1 || l.Reached != 1 {
			t.Errorf("%+v", l)
		}
	}
	first, second := o.Locations[0].Target, o.Locations[1].Target
	if o.Phase != rollout.Idle || first.Reached.Ago-second.Assigned.Ago < 300*time.Millisecond {
		t.Errorf("%v; sas reached it %v ago, man got it %v ago", o.Phase, first.Reached.Ago, second.Assigned.Ago)
	}
	if o.LastAct.By.Author != "ann@"+hostname(t) {
		t.Errorf("the author is %s", o.LastAct.By.Author)
	}
	// The second version, and a third one that returns to the first payload.
	x.publish(node, "more zones")
	man.says("more zones 2  man a.man dns 1 " + node + "\n")
	man.remarks("version 2 is in use\n")
	x.ok("rollout", "rollback", node, "dns", "--to", "1", "--all-at-once")
	man.awaitOutput("it goes back", func() bool { return strings.Count(man.Output(), "zones 1 r1") == 2 })
	sas.endsBy(syscall.SIGTERM, cli.ExitDone)
	man.endsBy(os.Interrupt, cli.ExitDone)
	x.await("they have left", func() bool {
		o := x.rollout(node)
		return o.Locations[0].Instances+o.Locations[1].Instances == 0
	})
}

func hostname(t *testing.T) string {
	t.Helper()
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func TestWhatTheCommandEndsWithIsReported(t *testing.T) {
	x, node := rolloutTool(t, "--location", "sas")
	s := x.follow(node, "sas", `case $(cat) in
		good) exit 0;; later) echo not yet >&2; exit 75;; bad) echo cannot read it >&2; exit 3;; esac`, "--leader")
	for _, c := range []struct{ payload, note, status, code, text string }{
		{"bad", "version 1 is not in use, after attempt 1: exit status 3: cannot read it\n", "failed", "exit-3",
			"exit status 3: cannot read it"},
		{"good", "version 2 is in use\n", "ok", "", ""},
		{"later", "version 3 is not in use, after attempt 1: exit status 75: not yet\n", "failed", "",
			"exit status 75: not yet"},
	} {
		x.publish(node, c.payload)
		if c.payload == "good" { // a version that is not reached blocks the next version
			x.ok("rollout", "promote", node, "dns", "--to", "2", "--reason", "go on")
		}
		s.remarks(c.note)
		s.await("it is reported", func() bool { // not while the next attempt is under way
			i := x.instance(node)
			said := &i.Report
			return said.Status.String() == c.status && said.Code == c.code && said.Text == c.text && i.Leader
		})
	}
	s.remarks("version 3 is not in use, after attempt 2: ") // the version is tried again
	holds := x.ok("session", "show", decimal(x.instance(node).SessionID))
	if !regexp.MustCompile(`\ndns +rollout +leader `).MatchString(holds) {
		t.Errorf("its session: %s", holds)
	}
	if why := x.ok("rollout", "why", node, "dns"); !strings.Contains(why, "sas waits for 1 of 1 leaders: a.sas (") {
		t.Errorf("%s", why)
	}
}

func TestACommandOfARolloutIsStoppedWhenItIsNotNeeded(t *testing.T) {
	x, node := rolloutTool(t, "--location", "sas")
	s := x.follow(node, "sas", `[ $SIGNALBOX_VERSION = 2 ] && exit 0
		trap 'echo stopped; exit 9' TERM; echo begins; while :; do sleep 0.01; done`)
	x.publish(node, "one")
	s.says("begins\n")
	x.publish(node, "two")
	x.ok("rollout", "promote", node, "dns", "--to", "2")
	s.says("begins\nstopped\n")
	s.remarks("version 1 is no longer the target\nsignalbox: version 2 is in use\n")
	if i := x.instance(node); i.Report.Status != rollout.OK || i.Report.Current != 2 {
		t.Errorf("%+v", i)
	}
}

func TestASignalEndsAnInstanceWithItsCommand(t *testing.T) {
	x, node := rolloutTool(t, "--location", "sas")
	s := x.follow(node, "sas", `trap 'echo asked; exit 9' TERM; echo begins; while :; do sleep 0.01; done`)
	x.publish(node, "one")
	s.says("begins\n")
	s.endsBy(syscall.SIGTERM, cli.ExitDone)
	if said := s.Output(); said != "begins\nasked\n" || strings.Contains(s.Errors(), "not in use") {
		t.Errorf("it says %s%s", said, s.Errors())
	}
	x.fails(cli.ExitExists, "a.sas", "rollout", "follow", node, "dns", "--location", "sas", "--instance",
		taken(t, x, node), "--", "true")
}

// taken returns an existing instance's name.
func taken(t *testing.T, x *tool, node string) string {
	t.Helper()
	x.follow(node, "sas", "cat >/dev/null")
	return "a.sas"
}
