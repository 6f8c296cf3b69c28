package main

import (
	"os"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/status"
	"github.com/signalbox/signalbox/internal/apijson"
)

func TestTopShowsWhatHappens(t *testing.T) {
	t.Parallel()
	p, _, box := lockPlace(t)
	if _, err := box.AlterNode(t.Context(), "/jobs", client.NodeConfig{MetricsLevel: client.Detailed}); err != nil {
		t.Fatal(err)
	}
	p.tool(t, "lock", "/jobs", "hot", "--", "sh", "-c", "echo in; exec sleep 600").says("in")
	waiting := p.tool(t, "lock", "/jobs", "hot", "--", "true")
	waiting.remarks("waiting for hot")
	top := p.tool(t, "top", "--admin-endpoints", p.Admin, "--interval", "3s", "-o",
		"json") // with the pages included
	top.awaitLine(1)
	if err := box.Node("/jobs").Create(t.Context(), "new", 1, nil); err != nil {
		t.Fatal(err)
	}
	var seen status.Sample
	top.awaitOutput("it shows the creation", func() bool {
		for line := range strings.Lines(top.Output()) {
			var l status.Sample
			if apijson.Decode([]byte(line), &l) != nil {
				continue
			}
			for _, r := range l.Requests {
				if r.Kind == "semaphore_create" && r.PerSecond > 0 && r.MeanMS > 0 {
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

	text := newTool(t, p.Client).ok("top", "--admin-endpoints", p.Admin, "--interval", "3s", "--once")
	for _, part := range []string{"signalbox top   ", "\nREQUESTS ", "\nHOST ", "\nSEMAPHORE ",
		"\nhot         /jobs   all     1\n"} {
		if !strings.Contains(text, part) {
			t.Errorf("it does not say %q:\n%s", part, text)
		}
	}
	text = newTool(t, p.Client).ok("top", "--interval", "1s", "--once") // pages named by the cluster
	if !strings.Contains(text, "\nhot         /jobs   all     1\n") {
		t.Errorf("without --admin-endpoints it does not look at the cluster of the endpoints:\n%s", text)
	}
	newTool(t, p.Client).fails(cli.ExitUnavailable, "give reachable pages with --admin-endpoints",
		"top", "--admin-endpoints", "127.0.0.1:1", "--once")
	newTool(t, p.Client).fails(cli.ExitUsage, "--interval 1ms", "top", "--interval", "1ms")
}
