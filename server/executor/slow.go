package executor

import (
	"context"
	"time"

	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
)

// pace is a host's recent speed relative to the other hosts, with its start time.
type pace struct {
	is    governor.Pace
	since time.Time
}

// judgePace updates the pace of each host.
func (t *term) judgePace(seen *governor.Seen, r *hosts.Records, now time.Time) {
	for i := range seen.Hosts {
		h := &seen.Hosts[i]
		is, _ := governor.PaceOf(r, seen, h.Host)
		last := t.paces[h.Host]
		if last.is != is {
			last = pace{is, now}
			t.paces[h.Host] = last
		}
		switch is {
		case governor.PaceSlow:
			h.SlowFor = millis(now.Sub(last.since))
		case governor.PaceSteady:
			h.SteadyFor = max(1, millis(now.Sub(last.since)))
		}
	}
}

// markSlow records the next host that has become slow or has recovered, and reports whether it has recorded a host.
// While a slow host has no log syncs to measure, the record is proposed again from time to time, because recording
// causes a sync.
func (t *term) markSlow(ctx context.Context, v governor.View) bool {
	if m := governor.NextSlowMark(v); m != nil {
		t.e.config.Log.Warn("a host is slow, or has recovered", "host", uint64(m.Host), "slow", m.Slow,
			"reason", m.Text)
		return t.propose(ctx, Command{Verb: VerbSlow, Term: t.number, Mark: *m}) == nil
	}
	if h := governor.Unmeasured(v); h != nil && time.Since(t.probed) >= probeEvery {
		t.probed = time.Now()
		mark := governor.SlowMark{Host: h.ID, Slow: true, Text: h.Slow.Text}
		_ = t.propose(ctx, Command{Verb: VerbSlow, Term: t.number, Mark: mark})
	}
	return false
}
