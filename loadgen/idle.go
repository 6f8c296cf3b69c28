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
		Summary:   "holds idle sessions, to measure their memory and CPU use on the hosts",
		Operation: "none; the report has server_heap_bytes, bytes_per_session and server_cpu_seconds",
		Checks:    "every session stays alive, and attached on the hosts",
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

// idle is the workload idle: sessions without operations, for measuring their memory and CPU use on the hosts.
type idle struct {
	plain
	run      *run
	sessions []*client.Session
	before   usage // without the sessions, but with the first connection
	after    usage
}

// prepare opens the connections and sessions between two readings of the hosts' memory.
func (i *idle) prepare(ctx context.Context, r *run) (err error) {
	i.run = r
	if i.before, err = r.gauges.read(ctx, true); err != nil {
		return err
	}
	// The connections count towards the sessions' cost, so they are opened after the first reading.
	r.step("opening %d connections", r.config.Connections)
	if err := r.fleet.grow(ctx, &r.config, r.config.Connections); err != nil {
		return err
	}
	r.step("opening %d sessions", r.config.Sessions)
	if i.sessions, err = r.sessions(ctx, r.config.Sessions); err != nil {
		return err
	}
	_, err = r.gauges.read(ctx, true) // collects the garbage from the opening now
	return err
}

func (i *idle) caller(int) operation { return nil }

func (i *idle) check(ctx context.Context) (err error) {
	var errs []error
	for _, s := range i.sessions {
		if s.Context().Err() != nil || s.State() != client.Attached {
			errs = append(errs, fmt.Errorf("session %d is %v: %w", s.ID(), s.State(), s.Err()))
			if len(errs) == maxViolations {
				break
			}
		}
	}
	if i.after, err = i.run.gauges.read(ctx, true); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(append(errs, i.count(ctx))...)
}

// count asks the hosts for the number of sessions.
func (i *idle) count(ctx context.Context) error {
	if !i.run.owned {
		return nil // the node may have foreign sessions
	}
	there := 0
	for s, err := range i.run.fleet.client(0).Node(i.run.node).Sessions(ctx) {
		if err != nil {
			return err
		}
		if s.Attached {
			there++
		}
	}
	if there != len(i.sessions) {
		return fmt.Errorf("%d sessions are held, but the hosts have %d attached sessions", len(i.sessions), there)
	}
	return nil
}

func (i *idle) report(to *report.Report) {
	to.Sessions = len(i.sessions)
	if i.run.gauges == nil || len(i.sessions) == 0 {
		return
	}
	n := float64(len(i.sessions))
	heap := (i.after.heap - i.before.heap) / n
	resident := (i.after.resident - i.before.resident) / n
	to.ServerHeapBytes, to.ServerRSSBytes = whole(i.after.heap), whole(i.after.resident)
	to.BytesPerSession, to.RSSBytesPerSession = &heap, &resident
}
