package load

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/loadgen/report"
)

const (
	// Pieces is the number of pieces of data that every caller reads in turn.
	Pieces = 64
	// writePause is the time between changes during the reads.
	writePause = 100 * time.Millisecond
)

// Store is a peer's interface for reads. A piece is a key, or the peer's equivalent.
type Store struct {
	// Strict is set if a read must show all changes acknowledged before its begin.
	Strict bool
	Write  func(ctx context.Context, piece int, value string) error
	Read   func(ctx context.Context, caller, piece int) (value []byte, err error)
}

// piece is one piece's change numbers, which only grow.
type piece struct{ asked, acknowledged atomic.Int64 }

// Read lets every caller read one piece after the other, while now and then a piece changes.
func Read(ctx context.Context, plan Plan, store Store) (*report.Report, error) {
	var pieces [Pieces]piece
	callers := make([]Operation, plan.Callers)
	for caller := range callers {
		next := caller
		callers[caller] = func(ctx context.Context) error {
			i := next % Pieces
			next++
			least := pieces[i].acknowledged.Load()
			value, err := store.Read(ctx, caller, i)
			if err != nil {
				return err
			}
			return pieces[i].judge(value, least, store.Strict)
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	end := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		if err := write(ctx, end, &pieces, store); err != nil {
			cancel(fmt.Errorf("%s, the changes beside the reads: %w", plan.Workload, err))
		}
	})
	r, err := Loop(ctx, plan, callers)
	close(end)
	writing.Wait()
	if err == nil {
		err = context.Cause(ctx)
	}
	return r, err
}

// write changes one piece after the other until end is closed.
func write(ctx context.Context, end <-chan struct{}, pieces *[Pieces]piece, store Store) error {
	pace := time.NewTicker(writePause)
	defer pace.Stop()
	for i := 0; ; i = (i + 1) % Pieces {
		select {
		case <-pace.C:
		case <-end:
			return nil
		case <-ctx.Done():
			return nil
		}
		n := pieces[i].asked.Add(1)
		if err := store.Write(ctx, i, Value(n)); err != nil {
			return err
		}
		pieces[i].acknowledged.Store(n)
	}
}

// judge checks a read's result; least was acknowledged before the read.
func (p *piece) judge(value []byte, least int64, strict bool) error {
	n, err := NumberOf(value)
	if err != nil {
		return err
	}
	if most := p.asked.Load(); n > most {
		return fmt.Errorf("%w: change %d was read, and only %d were made", ErrBroken, n, most)
	}
	if strict && n < least {
		return fmt.Errorf("%w: change %d was read, and %d was acknowledged before", ErrBroken, n, least)
	}
	return nil
}

// valueBytes is the size of all written values: loadgen's default.
const valueBytes = 32

// Value is data that carries a number.
func Value(n int64) string { return fmt.Sprintf("%0*d", valueBytes, n) }

// NumberOf returns a value's number.
func NumberOf(value []byte) (int64, error) {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || len(value) != valueBytes {
		return 0, fmt.Errorf("%w: %q was read, which was never written", ErrBroken, value)
	}
	return n, nil
}
