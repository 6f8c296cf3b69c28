package hosts

import (
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Slow records that a host is many times slower than the other hosts. A slow host keeps its votes and replicas, and
// leads no shards.
type Slow struct {
	// Since is the moment from which the host has counted as slow, 0 for a host that is not slow.
	Since uint64
	// Text says which figures were slow, for people.
	Text string
	// Times counts how often in a row the host was slow. Ended is the moment of the last recovery.
	Times, Ended uint64
}

const (
	// recoverMillis is the time a slow host must keep pace with the other hosts before it leads shards again. The time
	// doubles with each relapse, up to maxRecoverMillis, so that leaderships do not move to and fro.
	recoverMillis    = 60_000
	maxRecoverMillis = 64 * recoverMillis
	// relapseMillis is the time after a recovery within which slowness counts as a relapse.
	relapseMillis = 3600_000
)

// IsSlow reports whether the host counts as slow.
func (h *Host) IsSlow() bool { return h.Slow.Since != 0 }

// RecoverMillis is the time a slow host must keep pace with the other hosts before it counts as recovered.
func (h *Host) RecoverMillis() uint64 {
	return min(uint64(recoverMillis)<<min(max(h.Slow.Times, 1)-1, 16), maxRecoverMillis)
}

// SetSlow records the governor's finding that a host is slow, or has recovered. term is the governor's term.
func (r *Records) SetSlow(at At, term uint64, id shard.HostID, slow bool, text string) Answer {
	h := r.Host(id)
	switch {
	case term != at.Term:
		return refuse(protocol.StatusStale, "term %d is over", term)
	case h == nil:
		return refuse(protocol.StatusNotFound, "there is no host %d", id)
	case h.IsSlow() == slow:
		return Answer{Host: id, Existed: true}
	}
	next := *h
	if !slow {
		next.Slow.Since, next.Slow.Text, next.Slow.Ended = 0, "", clock.Moment(at.Now)
		return r.alter(at, &next, "no longer slow")
	}
	if clock.Over(h.Slow.Ended, relapseMillis, at.Now) {
		next.Slow.Times = 0
	}
	next.Slow.Times++
	next.Slow.Since, next.Slow.Text = clock.Moment(at.Now), codec.Cut(text, MaxText)
	return r.alter(at, &next, "%s", codec.Cut(fmt.Sprintf("slow: %s", text), MaxText))
}

func (s *Slow) code(c *codec.Coder) {
	c.Numbers(&s.Since, &s.Times, &s.Ended)
	c.Text(&s.Text, MaxText)
	c.Must(s.Since == 0 || s.Times > 0, "a slow host was never slow")
}
