package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/gateway/operation"
	"github.com/signalbox/signalbox/internal/apijson"
)

// lead is a command that prints its election and fencing token.
const lead = `exec 2>/dev/null; trap 'echo over; exit 4' TERM; echo "leads $SIGNALBOX_ELECTION $SIGNALBOX_FENCE"; while :; do sleep 0.01; done`

func TestTheLeadGoesToTheNext(t *testing.T) {
	p, _, _ := lockPlace(t)
	observer := p.tool(t, "elect", "/jobs", "boss", "--observe", "--follow", "-o", "json")
	observer.awaitLine(1)
	first := p.tool(t, "elect", "/jobs", "boss", "--data", "one", "--", "sh", "-c", lead)
	first.says("leads boss ")
	second := p.tool(t, "elect", "/jobs", "boss", "--data", "two", "--", "sh", "-c", lead)
	x := newTool(t, p.Client)
	if got := x.ok("elect", "/jobs", "boss", "--observe"); !strings.HasPrefix(got, "one is the leader of boss: "+
		"session ") {
		t.Errorf("it says %s", got)
	}
	observer.awaitLine(2)
	// SIGTERM ends the command and the contending.
	first.signal(syscall.SIGTERM)
	first.endsWith(4, "leader of boss, fence")
	second.says("leads boss ")
	observer.says(`"two"`) // an event that the observer misses here never comes
	if strings.Contains(second.Output(), strings.TrimSuffix(first.Output(), "over\n")) {
		t.Errorf("two terms have one fence: %s%s", first.Output(), second.Output())
	}
	second.signal(syscall.SIGTERM)
	second.endsWith(4, "leader of boss, fence")

	// The observer sees each leader, and a gap without a leader in between unless the gap was too short.
	var seen []string
	observer.awaitOutput("it has seen all", func() bool {
		seen = nil
		for line := range strings.Lines(observer.Output()) {
			var l operation.Leadership
			if err := apijson.Decode([]byte(line), &l); err != nil {
				return false // the file is incomplete
			}
			switch {
			case l.Leads:
				seen = append(seen, string(l.Data))
			case len(seen) == 0 || seen[len(seen)-1] == "two":
				seen = append(seen, "-")
			}
		}
		return strings.Join(seen, " ") == "- one two -"
	})
	observer.endsBy(syscall.SIGINT, cli.ExitDone)
	if r := x.run("elect", "/jobs", "boss", "--observe"); r.code != cli.ExitNotFound || r.out != "boss has no "+
		"leader\n" {
		t.Errorf("%+v", r)
	}
}

func TestACandidateContendsAgainUnlessItIsForOnce(t *testing.T) {
	p, _, _ := lockPlace(t)
	again := p.tool(t, "elect", "/jobs", "again", "--", "sh", "-c", "echo term; exit 3")
	again.awaitOutput("it leads again", func() bool { return strings.Count(again.Output(), "term") >= 2 })
	if said := again.Errors(); !strings.Contains(said, "the command ended with status 3") {
		t.Errorf("it says %s", said)
	}
	again.signal(syscall.SIGTERM)
	if code := again.wait(patience); code != 143 && code != 3 {
		t.Errorf("code %d", code)
	}
	p.tool(t, "elect", "/jobs", "once", "--once", "-q", "--", "sh", "-c", "exit 3").endsWith(3, "")
}

func TestALeadThatIsLost(t *testing.T) {
	p, _, box := lockPlace(t)
	rob := func() {
		t.Helper()
		d, err := box.Node("/jobs").Describe(t.Context(), "boss", client.WithOwners())
		if err != nil || len(d.Owners) != 1 {
			t.Fatalf("%+v, %v", d, err)
		}
		if err := box.DestroySession(t.Context(), d.Owners[0].SessionID); err != nil {
			t.Fatal(err)
		}
	}
	s := p.tool(t, "elect", "/jobs", "boss", "--once", "--", "sh", "-c", lead)
	s.says("leads")
	rob()
	s.endsWith(cli.ExitLost, "the leadership of boss was lost: ")
	s = p.tool(t, "elect", "/jobs", "boss", "--", "sh", "-c", lead)
	s.says("leads")
	rob()
	s.awaitOutput("it leads again", func() bool { return strings.Count(s.Output(), "leads") == 2 })
	if strings.Contains(s.Output(), "over") || !strings.Contains(s.Errors(), "the command was killed") {
		t.Errorf("it went on for a while: %s%s", s.Output(), s.Errors())
	}
	s.signal(syscall.SIGTERM)
	s.endsWith(4, "leader of boss, fence")
}

func TestWhatIsNoElection(t *testing.T) {
	p, _, box := lockPlace(t)
	if err := box.Node("/jobs").Create(t.Context(), "three", 3, nil); err != nil {
		t.Fatal(err)
	}
	p.tool(t, "elect", "/jobs", "three", "--", "true").endsWith(cli.ExitState,
		"an election needs a semaphore with limit 1, but three has limit 3; use another name")
	d, err := box.Node("/jobs").Describe(t.Context(), "three", client.WithOwners())
	if err != nil || len(d.Owners) != 0 {
		t.Errorf("it left an owner behind: %+v, %v", d, err)
	}
	p.tool(t, "elect", "/nowhere", "x", "--observe").endsWith(cli.ExitNotFound, "/nowhere")
	if code, _, err := command(nil, "elect", "/jobs", "x", "--follow", "--", "true"); code != cli.ExitUsage ||
		!strings.Contains(err, "--follow requires --observe") {
		t.Errorf("code %d, %s", code, err)
	}
}
