//go:build linux

package chaos

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/workload"
)

const (
	// counterWriters is the number of counting writers: enough to make hosts save snapshots occasionally.
	counterWriters = 3
	// counterPause is a writer's pause between two numbers.
	counterPause = 2 * time.Millisecond
	// counterTimeout is a writer's session timeout.
	counterTimeout = 20 * time.Second
)

// counter is a semaphore that a single writer counts in. Its final value must be the last acknowledged number, or the
// last number sent.
type counter struct {
	name               string
	acknowledged, sent int
}

// count writes counters until the context ends. After an unknown outcome, the writer starts a new counter, because the
// given-up number may take effect later.
func (t *trial) count(ctx context.Context, writer int) {
	for n := 0; ctx.Err() == nil; n++ {
		c := counter{name: fmt.Sprintf("counter-%d-%d", writer, n)}
		if t.countIn(ctx, &c) {
			t.mu.Lock()
			t.counters = append(t.counters, c)
			t.mu.Unlock()
		}
		workload.Sleep(ctx, 100*time.Millisecond)
	}
}

// countIn writes a counter, and reports whether the counter exists.
func (t *trial) countIn(ctx context.Context, c *counter) bool {
	session, err := t.direct.Session(ctx, t.node, client.SessionTimeout(counterTimeout))
	if err != nil {
		return false
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = session.Close(ctx) // it owns nothing
	}()
	x := session.Semaphore(c.name)
	if x.Create(ctx, 1, []byte("0")) != nil {
		return false
	}
	for workload.Sleep(ctx, counterPause) {
		c.sent++
		if err := x.Update(ctx, []byte(strconv.Itoa(c.sent))); err != nil {
			if is, text := workload.OutcomeOf(err); is != history.Unknown {
				t.record.Note("%s cannot be written: %s", c.name, text)
			}
			break
		}
		c.acknowledged = c.sent
	}
	return true
}

// checkCounters compares all counters with their writers' knowledge.
func (t *trial) checkCounters() {
	for _, c := range t.counters {
		ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
		var details *client.SemaphoreDetails
		err := workload.Persist(ctx, func() (err error) {
			details, err = t.direct.Node(t.node).Describe(ctx, c.name, client.WithConsistency(client.Strict))
			return err
		})
		cancel()
		has := math.MinInt
		if err == nil {
			has, err = strconv.Atoi(string(details.Data))
		}
		if err != nil || has < c.acknowledged || has > c.sent {
			t.record.Note("in the end %s has %d, though %d was acknowledged and %d was sent last: %v",
				c.name, has, c.acknowledged, c.sent, err)
		}
	}
}
