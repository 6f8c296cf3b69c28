package serve

import (
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/adminclient"
	"github.com/signalbox/signalbox/server"
)

// TestTheLoadOfAHost is the difference between two readings of its metrics.
func TestTheLoadOfAHost(t *testing.T) {
	t.Parallel()
	reading := func(text string) adminclient.Metrics {
		t.Helper()
		read, err := adminclient.Parse(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return read
	}
	before := reading(`signalbox_requests_total{kind="acquire"} 10
signalbox_requests_failed_total{kind="acquire",status="overloaded"} 1
signalbox_disk_free_bytes 5
`)
	now := reading(`signalbox_requests_total{kind="acquire"} 60
signalbox_requests_total{kind="release"} 50
signalbox_requests_failed_total{kind="acquire",status="overloaded"} 11
signalbox_disk_free_bytes 7
signalbox_disk_total_bytes 9
`)
	for _, c := range []struct {
		name   string
		before adminclient.Metrics
		span   time.Duration
		want   server.Load
	}{
		{"since five seconds", before, 5 * time.Second,
			server.Load{Span: 5 * time.Second, Requests: 100, Failed: 10, DiskFree: 7, DiskTotal: 9}},
		{"of the first reading", nil, 5 * time.Second, server.Load{DiskFree: 7, DiskTotal: 9}},
		{"after no time", before, 0, server.Load{DiskFree: 7, DiskTotal: 9}},
	} {
		if got := loadBetween(c.before, now, c.span); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
