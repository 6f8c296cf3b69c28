package adminclient

import (
	"strings"
	"testing"
)

const page = `# a comment
up 1
requests_total{kind="ACQUIRE"} 10
requests_total{kind="RELEASE"} 4
taken{node="/a",semaphore="with \"quotes\", {braces} and \\ and\nlines"} 3
wait_seconds_bucket{kind="A",le="1e-06"} 0
wait_seconds_bucket{kind="A",le="2e-06"} 5
wait_seconds_bucket{kind="A",le="0.5"} 9
wait_seconds_bucket{kind="A",le="+Inf"} 10
wait_seconds_sum{kind="A"} 40
wait_seconds_count{kind="A"} 10
wait_seconds_bucket{kind="B",le="0.5"} 10
wait_seconds_bucket{kind="B",le="+Inf"} 10
wait_seconds_sum{kind="B"} 1
wait_seconds_count{kind="B"} 10
`

func TestMetricsAreReadAsTheyAreWritten(t *testing.T) {
	m, err := Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	if m.Sum("up") != 1 || m.Sum("requests_total") != 14 || m.Sum("requests_total", "kind", "RELEASE") != 4 ||
		m.Sum("none") != 0 {
		t.Errorf("%+v", m)
	}
	if got := m["taken"][0].Labels["semaphore"]; got != "with \"quotes\", {braces} and \\ and\nlines" {
		t.Errorf("%q", got)
	}
	for _, bad := range []string{"alone", "a{b=\"c\" 1", "a{b} 1", "a x"} {
		if _, err := Parse(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestTimes(t *testing.T) {
	m, err := Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	a := m.Times("wait_seconds", "kind", "A")
	if a.Count != 10 || a.Mean() != 4 || a.Below(0.5) != 2e-6 || a.Below(0.9) != 0.5 || a.Below(0.99) != 0.5 {
		t.Errorf("%+v: %v %v %v", a, a.Below(0.5), a.Below(0.9), a.Below(0.99))
	}
	if since := a.Since(a); since.Count != 0 || since.Mean() != 0 || since.Below(0.5) != 0 {
		t.Errorf("%+v", since)
	}
	both := a.Plus(m.Times("wait_seconds", "kind", "B"))
	if both.Count != 20 || both.Below(0.25) != 2e-6 || both.Below(0.5) != 0.5 {
		t.Errorf("%+v", both)
	}
	if since := a.Since(both); since.Count != 10 {
		t.Errorf("a host that began anew: %+v", since)
	}
}
