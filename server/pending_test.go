package server_test

import (
	"bytes"
	"regexp"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
)

// metric reads a series of a host, 0 where there is none.
func metric(t *testing.T, c *servertest.Cluster, series string) int {
	t.Helper()
	var out bytes.Buffer
	c.Host(1).WriteMetrics(&out)
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindSubmatch(out.Bytes())
	if found == nil {
		return 0
	}
	v, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return int(v)
}

func TestWhatWaitsForAllClientsTogetherIsBounded(t *testing.T) {
	const limit, clients, requests = 20 << 20, 8, 120 // of 64 KiB: no client has more than it may have alone
	for name, consistency := range map[string]protocol.Consistency{
		"of what is answered at once": protocol.ConsistencyRelaxed, // and is refused
		"of what comes later":         protocol.ConsistencyStrict,  // and what was let in cannot be refused any more
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := servertest.Start(t, servertest.Config(func(c *server.Config) { c.PendingBytes = limit }))
				reader := speak(t, c, 1)
				describe := large(reader, protocol.ConsistencyRelaxed)
				many := make([]protocol.RequestMessage, requests)
				for i := range many {
					asked := *describe
					asked.Consistency = consistency
					many[i] = &asked
				}
				done := metric(t, c, `signalbox_requests_total{kind="semaphore_describe"}`)
				for range clients {
					speak(t, c, 1).burst(many...)
				}
				time.Sleep(time.Second) // for what is answered later
				synctest.Wait()
				asked := metric(t, c, `signalbox_requests_total{kind="semaphore_describe"}`) - done
				refused := metric(t, c,
					`signalbox_requests_failed_total{kind="semaphore_describe",status="overloaded"}`)
				cut := metric(t, c, `signalbox_connections_closed_total{reason="slow_reader"}`)
				pending := metric(t, c, "signalbox_output_buffer_bytes")
				if asked+cut*requests < clients*requests { // those of a client that was cut off may never be read
					t.Errorf("%d of %d requests were read, and %d clients were cut off", asked, clients*requests, cut)
				}
				if pending > limit {
					t.Errorf("%d bytes wait, and %d may", pending, limit)
				}
				// Of what comes later all may have been let in before the first answer, or the last may be refused.
				want(t, "requests are refused, or clients cut off", refused > 0 ||
					consistency == protocol.ConsistencyStrict && cut > 0, true)
				// A client that reads is served all the while.
				reader.must(reader.ask(describe))
			})
		})
	}
}
