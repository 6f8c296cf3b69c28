package loadgen

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/client"
)

var readRelaxedKind = &kind{
	Info: Info{
		Name:      "read-relaxed",
		Summary:   "describes semaphores from any host's memory, while a writer changes semaphores",
		Operation: "one description",
		Checks:    "no read returns a value before its write begins",
		Settings:  []string{"write-rate", "data-size"},
	},
	make: func() workload { return &read{mode: client.Relaxed} }, mixes: true, defaults: readDefaults,
}

var readStrictKind = &kind{
	Info: Info{
		Name:      "read-strict",
		Summary:   "describes semaphores in their latest state, while a writer changes semaphores",
		Operation: "one description",
		Checks:    "every read returns the last change acknowledged before the read began, or a later change",
		Settings:  []string{"write-rate", "data-size"},
	},
	make: func() workload { return &read{mode: client.Strict} }, mixes: true, defaults: readDefaults,
}

func readDefaults(c *Config) { orElse(&c.Writes, 10) }

// pieces is the number of semaphores to read.
const pieces = 64

// read is the workloads read-relaxed and read-strict: callers describe semaphores while a writer changes them.
type read struct {
	plain
	mode   client.Consistency
	run    *run
	of     [pieces]piece
	writer *client.Session
	stop   context.CancelFunc // stops the writer; nil without a writer
	work   sync.WaitGroup
	failed error // the writer's error; read after its end
}

// piece is a semaphore for reading: the number in its data never decreases.
type piece struct {
	name                string
	asked, acknowledged atomic.Uint64
}

// prepare creates the semaphores, waits until every Client can read them, and starts the writer.
func (re *read) prepare(ctx context.Context, r *run) (err error) {
	re.run = r
	kind := re.mode.String()
	if err := r.create(ctx, kind, pieces, 1, marked(r.config.Payload, 0)); err != nil {
		return err
	}
	for i := range re.of {
		re.of[i].name = r.name(kind, i)
	}
	if err := each(ctx, len(r.fleet), re.find); err != nil {
		return err
	}
	if r.config.Writes <= 0 {
		return nil
	}
	if re.writer, err = r.session(ctx, 0); err != nil {
		return err
	}
	writing, stop := context.WithCancel(context.Background())
	re.stop = func() {
		stop()
		re.work.Wait()
	}
	r.atEnd(re.stop)
	re.work.Go(func() { re.write(writing) })
	return nil
}

// find waits until a Client sees all pieces: a host that answers from memory may not have applied their creation yet.
func (r *read) find(ctx context.Context, i int) error {
	node := r.run.fleet.client(i).Node(r.run.node)
	again := time.NewTicker(findAgain)
	defer again.Stop()
	for p := 0; p < pieces; {
		_, err := node.Describe(ctx, r.of[p].name, client.WithConsistency(r.mode))
		switch {
		case err == nil:
			p++
			continue
		case !errors.Is(err, client.ErrNotFound):
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// findAgain is long compared to the time until a host applies a creation.
const findAgain = 5 * time.Millisecond

// write changes one piece after another, at the configured rate.
func (r *read) write(ctx context.Context) {
	pace := time.NewTicker(time.Duration(float64(time.Second) / r.run.config.Writes))
	defer pace.Stop()
	data := marked(r.run.config.Payload, 0)
	for i := 0; ; i = (i + 1) % pieces {
		select {
		case <-pace.C:
		case <-ctx.Done():
			return
		}
		p := &r.of[i]
		n := p.asked.Add(1)
		mark(data, n)
		if err := r.writer.Semaphore(p.name).Update(ctx, data); err != nil {
			if ctx.Err() == nil {
				r.failed = err
			}
			return
		}
		p.acknowledged.Store(n)
	}
}

func (r *read) caller(i int) operation {
	node := r.run.fleet.client(i).Node(r.run.node)
	next, options := i, []client.DescribeOption{client.WithConsistency(r.mode)}
	return func(ctx context.Context) error {
		p := &r.of[next%pieces]
		next++
		least := p.acknowledged.Load()
		d, err := node.Describe(ctx, p.name, options...)
		if err != nil {
			return err
		}
		if err := p.judge(r.mode, least, markOf(d.Data)); err != nil {
			r.run.broken.add(err)
		}
		return nil
	}
}

// judge checks a read number; least was acknowledged before the read began.
func (p *piece) judge(mode client.Consistency, least, read uint64) error {
	if most := p.asked.Load(); read > most {
		return fmt.Errorf("semaphore %q was read with change %d, but only %d changes were made", p.name, read, most)
	}
	if mode == client.Strict && read < least {
		return fmt.Errorf("semaphore %q was read strictly with change %d, but change %d was acknowledged before",
			p.name, read, least)
	}
	return nil
}

func (r *read) check(context.Context) error {
	if r.stop == nil {
		return nil
	}
	r.stop()
	if r.failed != nil {
		return fmt.Errorf("update during the reads: %w", r.failed)
	}
	return nil
}
