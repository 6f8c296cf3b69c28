package loadgen

import (
	"context"
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/loadgen/report"
)

var idleKind = &kind{
	Info: Info{
		Name:      "idle",
		Summary:   "holds sessions that do nothing: what they cost the hosts in memory and CPU",
		Operation: "none; the report has server_heap_bytes, bytes_per_session and server_cpu_seconds",
		Checks:    "that every session lives all the time and is the hosts' as well",
		Settings:  []string{"sessions"},
	},
	make: func() workload { return &idle{} }, idles: true,
	defaults: func(c *Config) {
		orElse(&c.Sessions, c.Callers)
		orElse(&c.Sessions, 1000)
		c.Callers = c.Sessions
		orElse(&c.Connections, min(c.Sessions, 100))
	},
}

type idle struct {
	plain
	run      *run
	sessions []*client.Session
	before   usage // without the sessions, but with the first connection
	after    usage
}

func (w *idle) prepare(ctx context.Context, r *run) (err error) {
	w.run = r
	if w.before, err = r.gauges.read(ctx, true); err != nil {
		return err
	}
	// The connections count as a part of what sessions cost, so they are opened after the first look.
	r.step("opening %d connections", r.config.Connections)
	if err := r.fleet.grow(ctx, &r.config, r.config.Connections); err != nil {
		return err
	}
	r.step("opening %d sessions", r.config.Sessions)
	if w.sessions, err = r.sessions(ctx, r.config.Sessions); err != nil {
		return err
	}
	_, err = r.gauges.read(ctx, true) // so that no garbage of the opening is collected later
	return err
}

func (w *idle) caller(int) operation { return nil }

func (w *idle) check(ctx context.Context) (err error) {
	var errs []error
	for _, s := range w.sessions {
		if s.Context().Err() != nil || s.State() != client.Attached {
			errs = append(errs, fmt.Errorf("session %d is %v: %w", s.ID(), s.State(), s.Err()))
			if len(errs) == maxViolations {
				break
			}
		}
	}
	if w.after, err = w.run.gauges.read(ctx, true); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(append(errs, w.count(ctx))...)
}

// count asks the hosts how many sessions they have.
func (w *idle) count(ctx context.Context) error {
	if !w.run.owned {
		return nil // others may have some there too
	}
	there := 0
	for s, err := range w.run.fleet.client(0).Node(w.run.node).Sessions(ctx) {
		if err != nil {
			return err
		}
		if s.Attached {
			there++
		}
	}
	if there != len(w.sessions) {
		return fmt.Errorf("%d sessions are held, and the hosts have %d that are attached", len(w.sessions), there)
	}
	return nil
}

func (w *idle) report(to *report.Report) {
	to.Sessions = len(w.sessions)
	if w.run.gauges == nil || len(w.sessions) == 0 {
		return
	}
	n := float64(len(w.sessions))
	heap := (w.after.heap - w.before.heap) / n
	resident := (w.after.resident - w.before.resident) / n
	to.ServerHeapBytes, to.ServerRSSBytes = whole(w.after.heap), whole(w.after.resident)
	to.BytesPerSession, to.RSSBytesPerSession = &heap, &resident
}
