package loadgen

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/barrier"
)

// parties is the number of parties per barrier.
const parties = 3

var barrierKind = &kind{
	Info: Info{
		Name: "barrier",
		Summary: fmt.Sprintf("double barriers with %d parties in separate sessions: all parties enter together, "+
			"and leave once all have entered; every caller has a barrier", parties),
		Operation: "a barrier round",
		Checks: "no party enters before all have arrived, or leaves before all are leaving; a round has a single " +
			"generation; generations increase",
	},
	make: func() workload { return &barriers{} },
	defaults: func(c *Config) {
		orElse(&c.Callers, 1)
		orElse(&c.Connections, min(parties*c.Callers, 10))
	},
}

// barriers is the workload barrier: every caller has a barrier with parties in separate sessions.
type barriers struct {
	*stages
	run *run
	all []*meeting
}

// meeting contains a barrier's parties.
type meeting struct {
	number     int
	parties    []*barrier.Barrier
	generation uint64 // of the latest round
}

// prepare runs a first round on all barriers, so that the measurement does not include barrier creation.
func (b *barriers) prepare(ctx context.Context, r *run) error {
	b.run, b.stages = r, newStages(r.config.Callers, "enter", "leave")
	sessions, err := r.sessions(ctx, parties*r.config.Callers)
	if err != nil {
		return err
	}
	for i := range r.config.Callers {
		b.all = append(b.all, newMeeting(i, r.name("barrier", i), sessions[i*parties:(i+1)*parties]))
	}
	return each(ctx, len(b.all), func(ctx context.Context, i int) error { return b.meet(ctx, b.all[i]) })
}

func newMeeting(number int, name string, sessions []*client.Session) *meeting {
	m := &meeting{number: number}
	for k, s := range sessions {
		m.parties = append(m.parties, barrier.New(s, name, len(sessions), barrier.As(fmt.Sprintf("party-%d", k))))
	}
	return m
}

func (b *barriers) caller(i int) operation {
	return func(ctx context.Context) error { return b.meet(ctx, b.all[i]) }
}

// roundCounts counts the parties that have entered and left in a round.
type roundCounts struct{ come, gone atomic.Int32 }

// meet runs a round with all parties. If a party fails, the other parties are cancelled, because they would wait in
// vain.
func (b *barriers) meet(ctx context.Context, m *meeting) error {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	var counts roundCounts
	generations, failed := make([]uint64, len(m.parties)), make([]error, len(m.parties))
	ended := make(chan struct{}, len(m.parties))
	for k := range m.parties {
		go func() {
			if generations[k], failed[k] = b.pass(ctx, m, k, &counts); failed[k] != nil {
				giveUp()
			}
			ended <- struct{}{}
		}()
	}
	for range m.parties {
		<-ended
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	if slices.Min(generations) != slices.Max(generations) || generations[0] <= m.generation {
		b.run.broken.addf("parties in a round have the generations %v, after %d", generations, m.generation)
	}
	m.generation = generations[0]
	return nil
}

// pass lets a party enter and leave.
func (b *barriers) pass(ctx context.Context, m *meeting, k int, counts *roundCounts) (generation uint64, err error) {
	all, began := int32(len(m.parties)), time.Now()
	counts.come.Add(1)
	entry, err := m.parties[k].Enter(ctx)
	if err != nil {
		return 0, err
	}
	if n := counts.come.Load(); n != all {
		b.run.broken.addf("a party entered a barrier with %d of %d parties present", n, all)
	}
	if k == 0 {
		began = b.stages.since(began, m.number, 0)
	}
	counts.gone.Add(1)
	if err := entry.Leave(ctx); err != nil {
		return 0, err
	}
	if n := counts.gone.Load(); n != all {
		b.run.broken.addf("a party left a barrier with %d of %d parties leaving", n, all)
	}
	if k == 0 {
		b.stages.since(began, m.number, 1)
	}
	return entry.Generation(), nil
}

func (*barriers) check(context.Context) error { return nil }
