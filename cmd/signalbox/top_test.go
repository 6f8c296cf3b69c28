package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/pages"
	"github.com/signalbox/signalbox/internal/shape"
	"github.com/signalbox/signalbox/server/admin"
)

func TestTopShowsWhatHappens(t *testing.T) {
	t.Parallel()
	p, _, box := lockPlace(t)
	if _, err := box.AlterNode(t.Context(), "/jobs", client.NodeConfig{Counters: client.Detailed}); err != nil {
		t.Fatal(err)
	}
	p.tool(t, "lock", "/jobs", "hot", "--", "sh", "-c", "echo in; exec sleep 600").says("in")
	waiting := p.tool(t, "lock", "/jobs", "hot", "--", "true")
	waiting.remarks("waiting for hot")
	top := p.tool(t, "top", "--admin", p.Admin, "--interval", "3s", "-o", "json") // in which the pages come, too
	top.awaitLine(1)
	if err := box.Node("/jobs").Create(t.Context(), "new", 1, nil); err != nil {
		t.Fatal(err)
	}
	var seen sample
	top.awaitOutput("it shows the creation", func() bool {
		for line := range strings.Lines(top.Output()) {
			var l sample
			if shape.Decode([]byte(line), &l) != nil {
				continue
			}
			for _, r := range l.Requests {
				if r.Kind == "SEMAPHORE_CREATE" && r.PerSecond > 0 && r.MeanMS > 0 {
					seen = l
					return true
				}
			}
		}
		return false
	})
	if len(seen.Hosts) != 1 || seen.Hosts[0].Name != "signalbox" || !seen.Hosts[0].Ready || seen.Hosts[0].Leads != 2 ||
		seen.Hosts[0].Sessions != 2 || seen.Queued != 1 {
		t.Errorf("%+v", seen)
	}
	if len(seen.Semaphores) == 0 || seen.Semaphores[0].Name != "hot" || seen.Semaphores[0].Node != "/jobs" ||
		seen.Semaphores[0].Waiters != 1 {
		t.Errorf("%+v", seen.Semaphores)
	}
	top.endsBy(os.Interrupt, cli.ExitDone)

	text := newTool(t, p.Client).ok("top", "--admin", p.Admin, "--interval", "3s", "--once")
	for _, part := range []string{"signalbox top   ", "\nREQUESTS ", "\nHOST ", "\nSEMAPHORE ",
		"\nhot         /jobs   all     1\n"} {
		if !strings.Contains(text, part) {
			t.Errorf("it does not say %q:\n%s", part, text)
		}
	}
	newTool(t, p.Client).fails(cli.ExitUnavailable, "--admin names those of a host that can be reached from here",
		"top", "--admin", "127.0.0.1:1", "--once")
	newTool(t, p.Client).fails(cli.ExitUsage, "--interval 1ms", "top", "--interval", "1ms")
}

func TestALookIsWhatHappenedInBetween(t *testing.T) {
	began := time.Now()
	reading := func(after time.Duration, started time.Time, metrics string) pages.Reading {
		m, err := pages.Parse(strings.NewReader(metrics))
		if err != nil {
			t.Fatal(err)
		}
		return pages.Reading{At: began.Add(after), Metrics: m,
			Status: admin.Status{Host: admin.HostStatus{ID: 1, Name: "a", Started: started}}}
	}
	before := []pages.Reading{reading(0, began, `signalbox_requests_total{kind="PING"} 100
signalbox_requests_total{kind="ACQUIRE"} 10
signalbox_requests_failed_total{kind="ACQUIRE",status="TIMEOUT"} 1
signalbox_acquire_wait_seconds_sum 1
signalbox_acquire_wait_seconds_count 1
`)}
	now := []pages.Reading{reading(2*time.Second, began, `signalbox_requests_total{kind="PING"} 100
signalbox_requests_total{kind="ACQUIRE"} 30
signalbox_requests_failed_total{kind="ACQUIRE",status="TIMEOUT"} 5
signalbox_acquire_wait_seconds_sum 9
signalbox_acquire_wait_seconds_count 5
signalbox_semaphore_taken{node="/a",semaphore="x"} 1.8446744073709552e+19
signalbox_semaphore_waiters{node="/a",semaphore="x"} 0
signalbox_semaphore_taken{node="/a",semaphore="y"} 1
signalbox_semaphore_waiters{node="/a",semaphore="y"} 2
signalbox_semaphore_taken{node="/a",semaphore="z"} 2
signalbox_semaphore_waiters{node="/a",semaphore="z"} 0
signalbox_rollout_still_seconds{node="/a",rollout="dns",location="man",reason="gate"} 5
signalbox_rollout_still_seconds{node="/a",rollout="dns",location="vla",reason="no-leaders"} 75
signalbox_rollout_still_seconds{node="/a",rollout="feed",location="",reason="halted"} 9
signalbox_process_still_seconds{node="/a",process="deploy",member="",reason="few-members"} 5
signalbox_process_still_seconds{node="/a",process="switch",member="b",reason="late"} 75
signalbox_process_still_seconds{node="/a",process="switch",member="c",reason="reply"} 9
`)}
	l := newSample(before, now, 2)
	if len(l.Requests) != 1 || l.Requests[0].Kind != "ACQUIRE" || l.Requests[0].PerSecond != 10 ||
		l.Requests[0].Failed != 2 || l.Waits.PerSecond != 2 || l.Waits.MeanMS != 2000 {
		t.Errorf("%+v", l)
	}
	if len(l.Semaphores) != 2 || l.Semaphores[0].Name != "y" || l.Semaphores[1].Name != "x" || l.more != 1 {
		t.Errorf("%+v", l.Semaphores)
	}
	if text := l.text(); !strings.Contains(text, "x           /a     all     0\n") ||
		!strings.Contains(text, "and 1 more\n") {
		t.Errorf("%s", text)
	}
	if want := "ROLLOUT   NODE   LOCATION   STANDS STILL   FOR\ndns       /a     vla        no-leaders     1m15s\n" +
		"feed      /a     -          halted         9s\n\n" +
		"PROCESS   NODE   WAITS FOR   STANDS STILL   FOR\nswitch    /a     b           late           1m15s\n" +
		"switch    /a     c           reply          9s\n"; !strings.HasSuffix(l.text(), "\n\n"+want) {
		t.Errorf("it ends with\n%s\nand not with\n%s", l.text(), want)
	}
	// A host that began anew has no past.
	now[0].Status.Host.Started = began.Add(time.Second)
	if l := newSample(before, now, 2); len(l.Requests) != 0 || l.Hosts[0].Requests != 0 {
		t.Errorf("%+v", l)
	}
}
