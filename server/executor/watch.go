package executor

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
)

// watch asks one host for reports on a separate goroutine: an unreachable host delays only its own reports. The
// term's lock guards all fields except the first four.
type watch struct {
	host  shard.HostID
	stop  context.CancelFunc
	poke  chan struct{}
	begun time.Time // when the host was first asked

	tried  bool      // the first request has ended, with a report or without
	asked  time.Time // when the answered request was sent
	report *report   // nil before the first report
	busy   bool      // a step is open: reports are requested more often
}

// report is a host's answer.
type report struct {
	incarnation hosts.Incarnation
	fresh, full bool
	speed       governor.Speed
	freshFor    uint64
	barrier     uint64
	led         []led
	held        []hold
	unled       []protocol.LeaderlessReplica
	counted     []protocol.CountedShard
}

// led is a shard as reported by its leader.
type led struct {
	protocol.LedShard
	members []protocol.ShardMember
}

// follow watches exactly the hosts that may still be responsible for something.
func (t *term) follow(ctx context.Context, r *hosts.Records, busy bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, w := range t.watches {
		if h := r.Host(id); h == nil || h.Current.Variant == protocol.HostExpelled {
			w.stop()
			delete(t.watches, id)
		} else if w.busy = busy; busy {
			w.ask()
		}
	}
	for _, h := range r.Hosts() {
		if h.Current.Variant == protocol.HostExpelled || t.watches[h.ID] != nil {
			continue
		}
		within, stop := context.WithCancel(ctx)
		w := &watch{host: h.ID, stop: stop, poke: make(chan struct{}, 1), begun: time.Now(), busy: busy}
		t.watches[h.ID] = w
		t.calls.Go(func() { t.watch(within, w) })
	}
}

// ask makes the watch send a request soon, unless one is in progress.
func (w *watch) ask() {
	select {
	case w.poke <- struct{}{}:
	default:
	}
}

// watch asks a host repeatedly until the context ends.
func (t *term) watch(ctx context.Context, w *watch) {
	for ctx.Err() == nil {
		if err := t.read(ctx, w); err != nil && ctx.Err() == nil {
			t.e.config.Log.Debug("a host sent no report", "host", w.host, "error", err)
		}
		t.e.Wake()
		w.rest(ctx, t)
	}
}

// askAll asks all watched hosts for a report now, and returns the hosts that answered. A nil term watches no host.
func (t *term) askAll(ctx context.Context) map[shard.HostID]bool {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	watches := slices.Collect(maps.Values(t.watches))
	t.mu.Unlock()
	answered := make(map[shard.HostID]bool)
	var asking sync.WaitGroup
	for _, w := range watches {
		asking.Go(func() {
			if t.read(ctx, w) == nil {
				t.mu.Lock()
				answered[w.host] = true
				t.mu.Unlock()
			}
		})
	}
	asking.Wait()
	return answered
}

// read asks a host for a report, and stores the report.
func (t *term) read(ctx context.Context, w *watch) error {
	asked := time.Now()
	r, err := t.readReport(ctx, w.host)
	t.mu.Lock()
	defer t.mu.Unlock()
	w.tried = true
	if err == nil && asked.After(w.asked) {
		w.asked, w.report = asked, r
	}
	return err
}

// rest waits until the next request is due: reportEvery after the last request, or busyEvery if a report is needed
// sooner.
func (w *watch) rest(ctx context.Context, t *term) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(busyEvery):
	}
	t.mu.Lock()
	busy := w.busy
	t.mu.Unlock()
	if busy {
		return
	}
	select {
	case <-ctx.Done():
	case <-w.poke:
	case <-time.After(reportEvery - busyEvery):
	}
}

func (t *term) readReport(ctx context.Context, host shard.HostID) (*report, error) {
	ctx, cancel := context.WithTimeout(ctx, reportWithin)
	defer cancel()
	question := &protocol.ShardReport{Term: t.number, GovernorHostID: uint64(t.e.config.Self)}
	records := t.e.config.Meta.State().Records
	if records == nil { // as in round
		return nil, context.Canceled
	}
	if h := records.Host(host); h != nil {
		question.Target, question.TargetEpoch = h.Target.Variant, h.Target.Epoch
		question.Current, question.CurrentEpoch = h.Current.Variant, h.Current.Epoch
	}
	answer, err := t.e.ask(ctx, host, question)
	if err != nil {
		return nil, err
	}
	m := &answer.ShardReport
	r := &report{fresh: m.Fresh, full: m.DiskFull, freshFor: m.FreshMillis, barrier: m.BarrierMillis,
		unled: slices.Collect(m.Leaderless.All()), counted: slices.Collect(m.Counted.All()),
		speed: governor.Speed{Sync: m.Speed.SyncMicros, Delay: m.Speed.DelayMicros, Round: m.Speed.RoundMicros,
			Stalls: m.Speed.Stalls}}
	copy(r.incarnation[:], m.Incarnation)
	for s := range m.Led.All() {
		r.led = append(r.led, led{LedShard: s, members: slices.Collect(s.Members.All())})
	}
	for h := range m.Held.All() {
		r.held = append(r.held, hold{hosts.ShardID(h.ShardID), h.ReplicaID})
	}
	return r, nil
}

// heard reports whether every watched host has been asked at least once, so that the reports are complete.
func (t *term) heard() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range t.watches {
		if !w.tried {
			return false
		}
	}
	return true
}
