package loadgen

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/loadgen/report"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// fullReport has everything that a report can have.
func fullReport() *report.Report {
	h := newHistogram()
	for i := range 1000 {
		h.record(time.Duration(i+1) * time.Millisecond)
	}
	f := newFailures()
	f.add("OVERLOADED", 2, "too <much>")
	l := &load{began: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), seconds: 2, latency: h, failures: f,
		timeline: []report.Point{{Seconds: 1, PerSecond: 400}, {Seconds: 2, PerSecond: 600}}}
	r := newReport(&Config{Workload: "watch", Command: "loadgen run -w watch --node '/a <b>'", Hosts: 3, Callers: 4,
		Connections: 2, Rate: 500}, l)
	addUsage(r, usage{cpu: 1}, usage{resident: 200 << 20, heap: 50 << 20, cpu: 1.5})
	r.AddEvents(24_000)
	updates, merged, each, heap, resident, own := int64(1000), int64(5), 42.5, 300.0, 1500.0, 0.25
	r.LoadCPUSeconds = &own
	r.Updates, r.Merged, r.BytesPerChangeAndConsumer = &updates, &merged, &each
	r.BytesPerSession, r.RSSBytesPerSession = &heap, &resident
	r.ConvergeMS = newMillis(&h)
	r.Sessions, r.Watchers, r.Workers = 100, 24, 10
	r.Parts = map[string]int64{"lock": 600, "echo": 400}
	s := newStages(1, "acquire", "release", "never")
	s.records[0][0].done, s.records[1][0].done = h, newHistogram()
	s.records[1][0].record(time.Millisecond, nil)
	s.report(r)
	r.Violations = []string{"semaphore \"x\" has two owners"}
	return r
}

// golden compares with a file, or writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := "testdata/" + name
	if *rewrite {
		check(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	check(t, err)
	if got != string(want) {
		t.Errorf("%s is now (go test -rewrite, if it is to be so):\n%s", file, got)
	}
}

func TestFormOfTheReport(t *testing.T) {
	var out bytes.Buffer
	check(t, fullReport().WriteJSON(&out))
	golden(t, "full.json", out.String())
	out.Reset()
	check(t, fullReport().WriteText(&out))
	golden(t, "full.txt", out.String())
}

func TestWhatDoesNotApplyIsLeftOut(t *testing.T) {
	var out bytes.Buffer
	h := newHistogram()
	h.record(time.Millisecond)
	l := &load{seconds: 1, latency: h, failures: newFailures()}
	check(t, newReport(&Config{Workload: "echo", Hosts: 1, Callers: 1, Connections: 1}, l).WriteJSON(&out))
	golden(t, "least.json", out.String())
}

func TestThePageNeedsNothingElse(t *testing.T) {
	var out bytes.Buffer
	check(t, fullReport().WriteHTML(&out))
	page := out.String()
	if n := strings.Count(page, "<polyline"); n != 2 {
		t.Errorf("the page has %d charts", n)
	}
	if found := regexp.MustCompile(`(?i)<script|https?://|src=|<link|@import|url\(`).FindString(page); found != "" {
		t.Errorf("the page has %q in it", found)
	}
	if !strings.Contains(page, "too &lt;much&gt;") {
		t.Error("the text of an error is not escaped")
	}
	wellFormed(t, strings.Replace(page, `<meta charset="utf-8">`, "", 1))
	points := regexp.MustCompile(`points="([^"]*)"`).FindStringSubmatch(page)[1]
	if !strings.HasPrefix(points, "455.0,") || !strings.HasSuffix(points, "810.0,20.0 ") {
		t.Errorf("the throughput of 400 a second after half of the time, and 600 at its end, is drawn as %q", points)
	}
}

func TestThePageSaysWhatWasRunAndWhen(t *testing.T) {
	var out bytes.Buffer
	check(t, fullReport().WriteHTML(&out))
	for _, want := range []string{
		"<code>loadgen run -w watch --node &#39;/a &lt;b&gt;&#39;</code>, from 2026-01-02 03:04:05 UTC on",
		"<tr><td>all</td><td>501 ms</td>", "<tr><td>acquire</td><td>501 ms</td>",
		"<tr><td>release</td><td>1.00 ms</td>",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if strings.Contains(out.String(), "<td>never</td>") {
		t.Error("the page has the times of what was never done")
	}
}

// letterWidth is how wide a letter of an axis is at the most, on the mean, and chartWidth how wide a chart is.
const (
	letterWidth = 8
	chartWidth  = 860
)

func TestNothingThatIsWrittenAtAnAxisIsCutOff(t *testing.T) {
	h := newHistogram()
	for i := range 2_000_000 {
		h.record(time.Duration(i%1000) * time.Microsecond)
	}
	h.record(59 * time.Minute)
	r := newReport(&Config{Workload: "echo"}, &load{seconds: 20, latency: h,
		timeline: []report.Point{{Seconds: 10, PerSecond: 1_000_000}, {Seconds: 20, PerSecond: 99_000_000}}})
	var out bytes.Buffer
	check(t, r.WriteHTML(&out))
	labels := regexp.MustCompile(`<text class="axis" (?:x="([0-9.]+)" dx="-8"|.*?x="([0-9.]+)") .*?text-anchor="(?:end|middle)">([^<]*)<`).FindAllStringSubmatch(strings.ReplaceAll(out.String(), `" text-anchor`, `"  text-anchor`), -1)
	if len(labels) < 20 {
		t.Fatalf("only %d labels were found", len(labels))
	}
	for _, l := range labels {
		width := letterWidth * float64(len(l[3]))
		from, to := number64(t, l[1]+l[2])-width/2, number64(t, l[1]+l[2])+width/2
		if l[1] != "" {
			from, to = number64(t, l[1])-8-width, number64(t, l[1])-8
		}
		if from < 0 || to > chartWidth {
			t.Errorf("%q reaches from %v to %v, and the picture is %d wide", l[3], from, to, chartWidth)
		}
	}
}

func number64(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	check(t, err)
	return n
}

func wellFormed(t *testing.T, page string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	for {
		_, err := d.Token()
		if err == io.EOF {
			return
		}
		check(t, err)
	}
}

func TestAReportOfNothingIsAPageWithoutCharts(t *testing.T) {
	var out bytes.Buffer
	check(t, newReport(&Config{Workload: "idle"},
		&load{latency: newHistogram(), failures: newFailures()}).WriteHTML(&out))
	if strings.Contains(out.String(), "<svg") {
		t.Error("there is nothing to draw")
	}
}

func TestQuantilesAreOfTheTimesThatWereRecorded(t *testing.T) {
	q := fullReport().LatencyUS
	for _, p := range []struct{ got, want float64 }{
		{q.P50, 500e3}, {q.P90, 900e3}, {q.P99, 990e3}, {q.P999, 999e3}, {q.Max, 1000e3},
	} {
		if p.got < p.want*0.99 || p.got > p.want*1.01 {
			t.Errorf("%g, and not %g, in %+v", p.got, p.want, q)
		}
	}
}

func TestNumbersForPeople(t *testing.T) {
	for got, want := range map[string]string{
		report.Number(1234567): "1,234,567", report.Number(-1234): "-1,234", report.Number(999): "999",
		report.Number(12.34): "12.3", report.Number(0): "0",
		report.Size(100): "100 bytes", report.Size(2048): "2.0 KiB", report.Size(3 << 20): "3.0 MiB",
		report.Size(5 << 30): "5.00 GiB", report.Size(-2048): "-2.0 KiB",
		report.Duration(12): "12 us", report.Duration(1234): "1.23 ms", report.Duration(123456): "123 ms",
		report.Duration(2.5e6): "2.50 s",
	} {
		if got != want {
			t.Errorf("%q, and should be %q", got, want)
		}
	}
}

func TestTheReportIsReadByOtherPrograms(t *testing.T) {
	var out bytes.Buffer
	check(t, fullReport().WriteJSON(&out))
	var read report.Report
	check(t, json.Unmarshal(out.Bytes(), &read))
	if read.PerSecond != 500 || *read.EventsPerSecond != 12_000 || read.Errors["OVERLOADED"] != 2 ||
		*read.ServerCPUSeconds != 0.5 {
		t.Errorf("%+v", read)
	}
}
