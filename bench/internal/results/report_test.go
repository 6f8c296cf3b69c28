package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/bench/internal/failover"
	"github.com/signalbox/signalbox/loadgen/report"
)

func TestTheMedianIsTheMiddle(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   Spread
	}{
		{[]float64{5}, Spread{5, 5, 5}},
		{[]float64{9, 1, 4}, Spread{4, 1, 9}},
		{[]float64{10, 1, 4, 2}, Spread{3, 1, 10}},
	} {
		if got := SpreadOf(c.values); got != c.want {
			t.Errorf("of %v: %v, want %v", c.values, got, c.want)
		}
	}
	if none := SpreadOf(nil); !math.IsNaN(none.Median) {
		t.Errorf("of nothing: %v", none)
	}
}

func TestRatiosCompareMediansAndBoundThemByRounds(t *testing.T) {
	ours := map[int]float64{1: 100, 2: 90, 3: 120}
	theirs := map[int]float64{1: 10, 2: 10, 3: 30}
	got, ok := RatioOf(ours, theirs)
	if want := (Ratio{10, 4, 10}); !ok || got != want {
		t.Errorf("%v, want %v", got, want)
	}
	for name, other := range map[string]map[int]float64{
		"no rounds": {}, "other rounds": {7: 10}, "nothing done": {1: 0, 2: 0, 3: 0},
	} {
		if got, ok := RatioOf(ours, other); ok {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func rate(v float64) *float64 { return &v }

// race is a one-round report built from rates.
type race struct{ Report }

func (r *race) run(cell string, hosts int, contestant string, result report.Report) {
	m := r.Find(cell, hosts, contestant)
	round := 1
	if m != nil {
		round = len(m.Runs) + 1
	}
	r.Add(cell, hosts, contestant, nil, Run{Round: round, Result: &result})
}

func (r *race) rate(cell string, hosts int, contestant string, perSecond ...float64) {
	for _, v := range perSecond {
		r.run(cell, hosts, contestant, report.Report{PerSecond: v})
	}
}

func (r *race) verdict(t *testing.T, cell string, hosts int, text string) Verdict {
	t.Helper()
	for _, v := range r.Verdicts {
		if v.Cell == cell && v.Hosts == hosts && strings.Contains(v.Text, text) {
			return v
		}
	}
	t.Fatalf("there is no target of %s, %d hosts, %s", cell, hosts, text)
	return Verdict{}
}

func check(t *testing.T, v Verdict, reached float64, outcome string) {
	t.Helper()
	if v.Outcome() != outcome {
		t.Errorf("%s, %d hosts, %s: %s (%s), want %s", v.Cell, v.Hosts, v.Want(), v.Outcome(), v.Value(), outcome)
	}
	if v.Reached != nil && math.Abs(v.Reached.OfMedians-reached) > 1e-6*reached {
		t.Errorf("%s, %d hosts, %s: reached %v, want %v", v.Cell, v.Hosts, v.Want(), v.Reached.OfMedians, reached)
	}
}

func TestTargetsAgainstPeers(t *testing.T) {
	var r race
	r.rate("lock-512", 1, Signalbox, 90_000, 110_000, 100_000)
	r.rate("lock-512", 1, Etcd, 10_000, 11_000, 9_000)
	r.rate("lock-512", 1, ZooKeeper, 13_000, 12_000, 14_000)
	r.rate("handoff-32", 1, Signalbox, 5_000)
	r.Conclude()
	check(t, r.verdict(t, "lock-512", 1, Etcd), 10, "met")
	check(t, r.verdict(t, "lock-512", 1, ZooKeeper), 100.0/13, "not met")
	check(t, r.verdict(t, "lock-512", 3, Etcd), 0, "not measured")
	check(t, r.verdict(t, "handoff-32", 1, ZooKeeper), 0, "not measured")
}

// TestASlowDiskHasItsOwnTargets: a race with slower syncs is not judged by the targets of a fast disk.
func TestASlowDiskHasItsOwnTargets(t *testing.T) {
	var r race
	r.Settings.SyncDelaySeconds = 0.005
	r.rate("lock-512", 1, Signalbox, 30_000)
	r.rate("lock-512", 1, Etcd, 10_000)
	r.Conclude()
	check(t, r.verdict(t, "lock-512", 1, Etcd), 3, "met")
}

func TestWatchersAreComparedByEvents(t *testing.T) {
	var r race
	r.run("watch-1000", 1, Signalbox, report.Report{PerSecond: 100, EventsPerSecond: rate(1_000_000.0)})
	r.run("watch-1000", 1, Etcd, report.Report{PerSecond: 90, EventsPerSecond: rate(125_000.0)})
	r.Conclude()
	check(t, r.verdict(t, "watch-1000", 1, Etcd), 8, "met")
}

func TestOneCallersLockIsComparedWithWhatItIsMadeOf(t *testing.T) {
	var r race
	took := func(cell string, hosts int, contestant string, us float64) {
		r.run(cell, hosts, contestant, report.Report{PerSecond: 1, LatencyUS: &report.Quantiles{P50: us}})
	}
	took("proposal", 1, Floor, 200)
	took("echo-1", 1, Signalbox, 50)
	took("lock-1", 1, Signalbox, 625) // and the floor is 500
	took("proposal", 3, Floor, 1_000)
	took("echo-1", 3, Signalbox, 50)
	took("lock-1", 3, Signalbox, 3_150) // and the floor is 2,100
	r.Conclude()
	check(t, r.verdict(t, "lock-1", 1, "proposals"), 1.25, "met")
	check(t, r.verdict(t, "lock-1", 3, "proposals"), 1.5, "not met")
}

func TestRelaxedReadsAreComparedWithEchoes(t *testing.T) {
	var r race
	r.rate("echo-64", 1, Signalbox, 150_000)
	r.rate("read-relaxed-64", 1, Signalbox, 120_000)
	r.rate("echo-64", 3, Signalbox, 150_000)
	r.rate("read-relaxed-64", 3, Signalbox, 75_000)
	r.Conclude()
	check(t, r.verdict(t, "read-relaxed-64", 1, "echo"), 1.25, "met")
	check(t, r.verdict(t, "read-relaxed-64", 3, "echo"), 2, "not met")
}

func TestTargetsOfSignalboxAlone(t *testing.T) {
	heap, rss, cpu, change := 900.0, 9000.0, 0.8, 180.0
	var r race
	r.run("idle-sessions", 1, Signalbox, report.Report{Seconds: 10, BytesPerSession: &heap, ServerCPUSeconds: &cpu})
	r.run("idle-connections", 1, Signalbox, report.Report{Seconds: 10, RSSBytesPerSession: &rss})
	r.run("discovery", 1, Signalbox, report.Report{
		ConvergeMS: &report.Quantiles{P99: 60, Max: 300}, BytesPerChangeAndConsumer: &change,
	})
	r.Conclude()
	check(t, r.verdict(t, "idle-sessions", 1, "heap"), 900, "met")
	check(t, r.verdict(t, "idle-sessions", 1, "core"), 8, "not met")
	check(t, r.verdict(t, "idle-connections", 1, "RSS"), 9000, "not met")
	check(t, r.verdict(t, "discovery", 1, "current"), 60, "met")
	check(t, r.verdict(t, "discovery", 1, "change"), 180, "met")
}

// small is a report with every kind of entry.
func small() *race {
	r := &race{Report{
		Started: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC), Seconds: 61, Command: []string{"bench", "run"},
		Machine: Machine{
			CPU: "A CPU", Cores: 2, MemoryBytes: 8 << 30, Kernel: "Linux 6.1", Filesystem: "ext4", Go: "go1.26",
		},
		Versions: []Version{{Etcd, "3.7.3"}},
		Settings: Settings{Rounds: 2, WarmupSeconds: 1, DurationSeconds: 5, Connections: 8},
		Skipped:  []Skip{{ZooKeeper, "there is no <jar>"}},
	}}
	for _, v := range []float64{80_000, 120_000} {
		r.run("lock-512", 1, Signalbox, report.Report{PerSecond: v, LatencyUS: &report.Quantiles{
			P50: 5_000, P99: 12_345,
		}})
	}
	r.rate("lock-512", 1, Etcd, 8_000)
	r.Add("lock-512", 1, Etcd, nil, Run{Round: 2, Failed: "member 0 ended"})
	r.Find("lock-512", 1, Signalbox).Commands = [][]string{{"loadgen", "run", "--callers", "512"}}
	r.Conclude()
	return r
}

func TestTextHasEverything(t *testing.T) {
	var out bytes.Buffer
	if err := small().Text(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"2026-01-02 03:04 UTC", "A CPU; 2 cores; 8 GiB; Linux 6.1; data on ext4",
		"zookeeper was skipped: there is no <jar>",
		"lock-512  1      signalbox  100,000/s (80,000 - 120,000)  5.00 ms  12 ms",
		"8,000/s (8,000 - 8,000)", "12.5x (10 - 10)",
		"at least 10x etcd", "met", "not measured",
		"FAILED: lock-512, hosts 1, etcd, round 2: member 0 ended",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}

func TestJSONHoldsEveryRunAndIsReadBack(t *testing.T) {
	r := small()
	var out bytes.Buffer
	if err := r.JSON(&out); err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(out.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	m := back.Find("lock-512", 1, Etcd)
	if m == nil || len(m.Runs) != 2 || m.Runs[1].Failed == "" || m.PerSecond.Median != 8_000 ||
		m.EventsPerSecond != nil {
		t.Errorf("etcd is read back as %+v", m)
	}
	if len(back.Verdicts) != len(r.Verdicts) || back.Machine != r.Machine || !back.Started.Equal(r.Started) {
		t.Errorf("it is read back as %+v", back)
	}
}

func TestThePageNeedsNothingFromElsewhereAndEscapesWhatItShows(t *testing.T) {
	var out bytes.Buffer
	if err := small().HTML(&out); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	for _, want := range []string{"<svg", "100,000/s", "8,000/s, 12.5x", "there is no &lt;jar&gt;", "loadgen run --callers 512", `class="met"`} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing", want)
		}
	}
	for _, link := range []string{"src=", "href=", "@import", "url("} {
		if strings.Contains(page, link) {
			t.Errorf("the page has %q", link)
		}
	}
}

func TestAReportOfNothingIsWritten(t *testing.T) {
	var r Report
	r.Add("lock-1", 1, Signalbox, nil, Run{Round: 1, Failed: "no server"})
	r.Conclude()
	for name, form := range map[string]func(*bytes.Buffer) error{
		"text": func(b *bytes.Buffer) error { return r.Text(b) },
		"JSON": func(b *bytes.Buffer) error { return r.JSON(b) },
		"HTML": func(b *bytes.Buffer) error { return r.HTML(b) },
	} {
		if err := form(new(bytes.Buffer)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNumbersAreShort(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1.304: "1.3", 12.345: "12.3", 10: "10", 123.4: "123", 1234567: "1,234,567", -1500: "-1,500",
		math.NaN(): "-",
	} {
		if got := number(v); got != want {
			t.Errorf("%v is written %q, want %q", v, got, want)
		}
	}
}

func TestThisMachineIsKnown(t *testing.T) {
	m := ThisMachine(t.TempDir())
	if m.Cores < 1 || m.MemoryBytes == 0 || m.Kernel == "" || m.Filesystem == "" || m.Go == "" {
		t.Errorf("%+v", m)
	}
}

// TestFiguresOfSomeWorkloadsAreShown has two rounds; only one round has a certain figure.
func TestFiguresOfSomeWorkloadsAreShown(t *testing.T) {
	var r race
	figures := func(all ...report.Figure) {
		r.run("failover-8", 3, Signalbox, report.Report{Figures: all})
	}
	figures(report.Figure{Name: failover.Next, Value: 500, Unit: "ms"},
		report.Figure{Name: failover.NextWorst, Value: 1300, Unit: "ms"})
	figures(report.Figure{Name: failover.Next, Value: 600, Unit: "ms"}, report.Figure{Name: failover.Failed, Value: 2})
	r.Conclude()
	check(t, r.verdict(t, "failover-8", 3, failover.Next), 550, "met")
	check(t, r.verdict(t, "failover-8", 3, failover.NextWorst), 1300, "not met")
	var text, page bytes.Buffer
	if err := errors.Join(r.Text(&text), r.HTML(&page)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{failover.Next, "550 ms (500 - 600)", "1,300 ms (1,300 - 1,300)", "2 (2 - 2)"} {
		if !strings.Contains(text.String(), want) || !strings.Contains(page.String(), want) {
			t.Errorf("%q is missing in\n%s\n%s", want, text.String(), page.String())
		}
	}
}
