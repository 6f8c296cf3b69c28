package governor

import (
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// Speed is a host's speed, by its own measurements over the last seconds. A time of 0 is unknown. A host without a
// Delay has not reported.
type Speed struct {
	// Sync is the median log sync time, in microseconds.
	Sync uint64
	// Delay is the timer lateness, in microseconds. Timers are late on a host that lacks processor time.
	Delay uint64
	// Round is the round trip to a majority, in microseconds.
	Round uint64
	// Stalls counts the seconds with a disk or process stall in the last two minutes.
	Stalls uint64
}

const (
	// slowFactor is how many times slower a slow host is than the other hosts. Below half the factor the host is no
	// longer slow.
	slowFactor = 5
	// slowMillis is how long a host must be slow before it counts as slow.
	slowMillis = 2_000
)

// figure is a measurement for comparing hosts.
type figure struct {
	of func(*Speed) uint64
	// least is the value below which a host is never slow, however fast the other hosts are: leaders would gain little.
	least uint64
	// counts is set if 0 is a valid value, and not unknown.
	counts bool
	text   func(own, others uint64) string
}

var figures = []figure{
	{of: func(s *Speed) uint64 { return s.Sync }, least: 10_000, text: func(own, others uint64) string {
		return fmt.Sprintf("log syncs take %s (other hosts: %s)", micros(own), micros(others))
	}},
	{of: func(s *Speed) uint64 { return s.Delay }, least: 20_000, text: func(own, others uint64) string {
		return fmt.Sprintf("timers fire %s late for lack of processor time (other hosts: %s)", micros(own),
			micros(others))
	}},
	{of: func(s *Speed) uint64 { return s.Round }, least: 10_000, text: func(own, others uint64) string {
		return fmt.Sprintf("round trips to other hosts take %s (other hosts: %s)", micros(own), micros(others))
	}},
	{of: func(s *Speed) uint64 { return s.Stalls }, least: 3, counts: true, text: func(own, others uint64) string {
		return fmt.Sprintf("%d stalls in two minutes (other hosts: %d)", own, others)
	}},
}

// micros formats microseconds for people.
func micros(n uint64) string {
	if n < 10_000 {
		return fmt.Sprintf("%.1f ms", float64(n)/1000)
	}
	return fmt.Sprintf("%d ms", n/1000)
}

// Pace is a host's speed relative to the other hosts.
type Pace uint8

// The paces.
const (
	PaceUnknown Pace = iota
	PaceSteady       // as fast as the others
	PaceMiddle       // slower, or not known well enough: nothing begins or ends
	PaceSlow
)

// PaceOf compares a host with the median of the other online hosts, and describes in what the host is slow. Half of the
// other hosts must be faster: if all hosts are slow, none counts as slow.
func PaceOf(r *hosts.Records, seen *Seen, id shard.HostID) (pace Pace, text string) {
	own := seen.host(id)
	if own == nil || own.Speed.Delay == 0 || !seen.live(id) {
		return PaceUnknown, ""
	}
	pace = PaceSteady
	if own.Speed.Sync == 0 {
		pace = PaceMiddle
	}
	for _, f := range figures {
		value := f.of(&own.Speed)
		others, known := f.medianOfOthers(r, seen, id)
		switch {
		case value >= f.least && known && value >= slowFactor*others:
			pace, text = PaceSlow, joined(text, f.text(value, others))
		case 2*value >= f.least && (!known || 2*value >= slowFactor*others):
			pace = max(pace, PaceMiddle)
		}
	}
	return pace, text
}

func joined(text, more string) string {
	if text == "" {
		return more
	}
	return text + "; " + more
}

// medianOfOthers returns a figure's median over the other hosts: for an even number of hosts the greater middle value.
// The median is unknown if no other host has reported the figure.
func (f *figure) medianOfOthers(r *hosts.Records, seen *Seen, id shard.HostID) (median uint64, known bool) {
	var list []uint64
	for i := range seen.Hosts {
		x := &seen.Hosts[i]
		h := r.Host(x.Host)
		if x.Host == id || h == nil || !h.Online() || !seen.live(x.Host) || x.Speed.Delay == 0 {
			continue
		}
		if n := f.of(&x.Speed); n > 0 || f.counts {
			list = append(list, n)
		}
	}
	if len(list) == 0 {
		return 0, false
	}
	slices.Sort(list)
	return list[len(list)/2], true
}

// SlowMark is a record change: a host becomes slow, or has recovered.
type SlowMark struct {
	Host shard.HostID
	Slow bool
	Text string
}

// NextSlowMark returns the next record change, or nil. A host becomes slow after slowMillis, and recovers after a time
// that grows with its relapses (hosts.Host.RecoverMillis).
func NextSlowMark(v View) *SlowMark {
	for _, h := range v.State.Hosts() {
		seen := v.Seen.host(h.ID)
		switch {
		case seen == nil || !h.Online():
		case h.IsSlow():
			if seen.SteadyFor >= h.RecoverMillis() {
				return &SlowMark{Host: h.ID}
			}
		case seen.SlowFor >= slowMillis:
			if pace, text := PaceOf(v.State, v.Seen, h.ID); pace == PaceSlow {
				return &SlowMark{Host: h.ID, Slow: true, Text: text}
			}
		}
	}
	return nil
}

// Unmeasured returns a slow host without recent log syncs, or nil. Such a host can recover only if it gets something to
// sync.
func Unmeasured(v View) *hosts.Host {
	for _, h := range v.State.Hosts() {
		seen := v.Seen.host(h.ID)
		if !h.IsSlow() || !h.Online() || !v.Seen.live(h.ID) || seen == nil {
			continue
		}
		if seen.Speed.Delay > 0 && seen.Speed.Sync == 0 {
			return h
		}
	}
	return nil
}

// ruleSlow transfers leaderships from slow hosts to hosts that may lead. The meta shard comes first, so that a fast
// host governs the rest.
func ruleSlow(v View) (f finding) {
	for _, g := range groups(v) {
		h := v.State.Host(g.seen.Leader)
		if h == nil || !h.IsSlow() || g.voter(h.ID) == nil {
			continue
		}
		able := g.relief()
		if len(able) == 0 {
			f.because(g.reason(CodeNoSuccessor, "no other voter can lead it in the place of "+h.Name+", which is slow",
				g.voter(h.ID)))
			continue
		}
		to := able[uint64(g.shard.ID)%uint64(len(able))] // the shards of the slow host are spread over the others
		f.propose(v, KindTransfer, Action{Shard: g.shard.ID, From: h.ID, Host: to.Host})
		if g.shard.ID == hosts.Meta {
			break
		}
	}
	return f
}

// relief returns the voters that may lead instead of a slow host. A voter due for removal is excluded: its removal
// would hand the leadership back.
func (g *group) relief() (able []*member) {
	var victim *member
	if len(g.voters) > g.most() {
		victim = g.excess()
	}
	for _, m := range g.voters {
		if g.mayLead(m) && !m.out && m != victim {
			able = append(able, m)
		}
	}
	return able
}

// slowReason describes a slow host, and when the host recovers. After the recovery, leaders are spread again.
func (f *finding) slowReason(v View, h *hosts.Host) {
	r := plan.Reason{Code: CodeSlow, Subjects: []plan.Subject{hostSubject(h.ID)}, Since: h.Slow.Since,
		Text: fmt.Sprintf("host %s is slow and leads nothing: %s", h.Name, h.Slow.Text)}
	if seen := v.Seen.host(h.ID); seen != nil && seen.SteadyFor > 0 {
		r.Until = v.Now + h.RecoverMillis() - min(seen.SteadyFor, h.RecoverMillis())
	}
	f.Reasons = append(f.Reasons, r)
}
