//go:build linux

package survival_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// TestAFloodStopsAtTheQuotaOfTheShards: clients fill a host with everything that a host stores: semaphore data,
// semaphores without data, owner data, sessions, and unacknowledged answers. The total stays within the shard quotas,
// and process memory stays bounded.
func TestAFloodStopsAtTheQuotaOfTheShards(t *testing.T) {
	const (
		shards     = 4
		quota      = 16 << 20 // of each shard
		memory     = 512 << 20
		least      = 50 // refusals per kind
		data       = 60_000
		unanswered = 1000 // unacknowledged answers per client
	)
	p := newPlaces(t, "flooded")[0]
	running, err := p.Start("--shard-quota-bytes", fmt.Sprint(quota))
	if err != nil {
		t.Fatal(err)
	}
	h := &host{running, t}
	t.Cleanup(h.Kill)
	h.awaitReady()

	ctx := t.Context()
	c, err := sdk.Open(ctx, p.Client)
	h.must(err)
	defer c.Close()
	const path = "/flood"
	_, err = c.CreateNode(ctx, path, sdk.NodeConfig{})
	h.must(err)
	bound := func() (bytes, quotas float64) {
		_, page := h.Get("/metrics")
		return sumOf(t, page, "signalbox_shard_quota_used_bytes"), sumOf(t, page, "signalbox_shard_quota_limit_bytes")
	}
	h.await("the shards to have their quotas", func() bool { _, quotas := bound(); return quotas == shards*quota })

	session, err := c.Session(ctx, path, sdk.SessionTimeout(10*time.Minute))
	h.must(err)
	unacknowledged, err := start([]string{p.Client}, path, 10*time.Minute, newRecord(t))
	h.must(err)
	defer unacknowledged.disconnect()
	answers := 0
	floods := []struct {
		what  string
		write func(i int64) error
	}{
		{"data of semaphores", func(i int64) error {
			return c.Node(path).Create(ctx, fmt.Sprint("data-", i), 1, make([]byte, data))
		}},
		{"data of owners", func(i int64) error {
			_, err := session.Ephemeral(fmt.Sprint("owned-", i)).RLock(ctx, sdk.Data(make([]byte, data)))
			return err
		}},
		{"semaphores", func(i int64) error { return c.Node(path).Create(ctx, fmt.Sprint("empty-", i), 1, nil) }},
		{"sessions", func(i int64) error {
			_, err := c.Session(ctx, path, sdk.SessionTimeout(10*time.Minute),
				sdk.Description(strings.Repeat("x", 1000)))
			return err
		}},
		{"answers", func(i int64) error {
			if answers++; answers > unanswered {
				return protocol.ErrQuotaExceeded // beyond this number, refused for a different reason
			}
			name := fmt.Sprint("answered-", i)
			_, err := unacknowledged.change(name, func(m protocol.Mutation) protocol.RequestMessage {
				m.AcknowledgedSequence = 0
				return &protocol.SemaphoreDelete{Mutation: m, NodeID: unacknowledged.node, Name: []byte(name)}
			})
			if errors.Is(err, protocol.ErrNotFound) {
				return nil
			}
			return err
		}},
	}
	var all sync.WaitGroup
	for _, f := range floods {
		all.Go(func() {
			written, refused := int64(0), 0
			for i := int64(0); refused < least && ctx.Err() == nil; i++ {
				switch err := f.write(i); {
				case err == nil:
					written++
				case errors.Is(err, protocol.ErrQuotaExceeded):
					refused++
				default:
					t.Errorf("%s: %v", f.what, err)
					return
				}
			}
			t.Logf("%s: %d were written until %d were refused", f.what, written, refused)
		})
	}
	flooded := make(chan struct{})
	go func() { all.Wait(); close(flooded) }()
	peak, pause := 0, time.NewTicker(100*time.Millisecond)
	defer pause.Stop()
	for over := false; !over; {
		select {
		case <-flooded:
			over = true
		case <-pause.C:
		}
		peak = max(peak, h.resident())
	}

	// Answers to changes that are never refused, such as deletes, are stored beyond the quota.
	bytes, quotas := bound()
	if most := quotas + unanswered*shard.AnswerBytes; bytes > most || bytes < quotas/2 {
		t.Errorf("%.0f bytes are kept, and %.0f may be", bytes, most)
	}
	if peak > memory {
		t.Errorf("the process had %d MiB", peak>>20)
	}
	t.Logf("kept: %.1f MiB of %.0f MiB; the process had %d MiB", bytes/(1<<20), quotas/(1<<20), peak>>20)
	if err := c.Node(path).Delete(ctx, "data-0"); err != nil {
		t.Errorf("a delete in a full shard: %v", err)
	}
}

// sumOf adds up a metric family's series.
func sumOf(t *testing.T, page, family string) (sum float64) {
	t.Helper()
	for line := range strings.Lines(page) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.HasPrefix(name, family+"{") {
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += v
		}
	}
	return sum
}
