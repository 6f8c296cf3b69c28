package loadgen

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/signalbox/signalbox/loadgen/report"
)

var mixedKind = &kind{
	Info: Info{
		Name:      "mixed",
		Summary:   "every caller draws its next operation: by default a bit of everything",
		Operation: "the drawn operation",
		Checks:    "as in the drawn workloads",
		Settings:  []string{"weights", "and those of all parts"},
	},
	make: func() workload { return &mixed{} },
	defaults: func(c *Config) {
		if c.Weights == nil {
			c.Weights = map[string]int{"lock": 40, "read-relaxed": 40, "read-strict": 10, "session": 5, "handoff": 5}
		}
		orElse(&c.Writes, 10)
	},
}

// mixed runs several workloads at once.
type mixed struct {
	parts  []part
	total  int
	stages *stages // by part
}

type part struct {
	workload
	name   string
	weight int
}

func (m *mixed) prepare(ctx context.Context, r *run) error {
	names := slices.Sorted(maps.Keys(r.config.Weights))
	for _, name := range names {
		p := part{workload: kinds[name].make(), name: name, weight: r.config.Weights[name]}
		m.parts = append(m.parts, p)
		m.total += p.weight
		if err := p.prepare(ctx, r); err != nil {
			return err
		}
	}
	m.stages = newStages(r.config.Callers, names...)
	return nil
}

// caller draws a part for every operation according to the weights. A caller's draws are the same in every run.
func (m *mixed) caller(i int) operation {
	operations := make([]operation, len(m.parts))
	for n, p := range m.parts {
		operations[n] = p.caller(i)
	}
	draw := rand.New(rand.NewPCG(1, uint64(i)))
	return func(ctx context.Context) error {
		n, left := 0, draw.IntN(m.total)
		for left >= m.parts[n].weight {
			left -= m.parts[n].weight
			n++
		}
		began := time.Now()
		err := operations[n](ctx)
		if err == nil {
			m.stages.since(began, i, n)
		}
		return err
	}
}

func (m *mixed) begin() {
	m.stages.begin()
	for _, p := range m.parts {
		p.begin()
	}
}

func (m *mixed) check(ctx context.Context) error {
	var errs []error
	for _, p := range m.parts {
		errs = append(errs, p.check(ctx))
	}
	return errors.Join(errs...)
}

func (m *mixed) report(to *report.Report) {
	to.Parts = make(map[string]int64, len(m.parts))
	for n, p := range m.parts {
		to.Parts[p.name] = m.stages.count(n)
	}
	m.stages.report(to)
}
