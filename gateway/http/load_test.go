package http

import (
	"strings"
	"testing"
)

// TestLoadsAreOfTheLastHalfHour: the newest are kept, in their order, and no more.
func TestLoadsAreOfTheLastHalfHour(t *testing.T) {
	var l loads
	for i := range loadKept + 3 {
		l.add(Load{PerSecond: float64(i)})
	}
	all := l.all()
	if len(all) != loadKept || all[0].PerSecond != 3 || all[len(all)-1].PerSecond != loadKept+2 {
		t.Errorf("%d, from %v to %v", len(all), all[0].PerSecond, all[len(all)-1].PerSecond)
	}
	all[0].PerSecond = -1
	if l.all()[0].PerSecond != 3 {
		t.Error("what was returned is changed by its reader")
	}
}

// TestTheLoadIsThatOfTheHost which serves the API, and is measured from its start on.
func TestTheLoadIsThatOfTheHost(t *testing.T) {
	st := newStage(t, func(c *Config) {
		c.Measure = func() Load { return Load{PerSecond: 7, P50: 0.5, P99: 2, DiskFree: 1 << 40} }
	})
	await(t, "the host is measured", func() bool {
		r := st.get("/v1/load")
		return r.code == 200 && strings.Contains(r.text,
			`{"per_second":7,"p50_ms":0.5,"p99_ms":2,"disk_free":"1099511627776"}`)
	})
}
