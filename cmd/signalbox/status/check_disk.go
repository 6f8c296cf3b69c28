package status

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

const (
	// probeWrites is the number of probe writes, probeBytes their size, and probeWithin the time limit for the probe.
	probeWrites = 200
	probeBytes  = 4 << 10
	probeWithin = 20 * time.Second
	// badSync is the silence after which followers replace a leader: a disk that stalls for this long keeps the
	// leader silent.
	badSync = 300 * time.Millisecond
	// slowWrite is the 99th percentile of write times above which a disk is too slow for a busy host.
	slowWrite = 10 * time.Millisecond
	// probeWriters is the number of files synced concurrently in the probe's second part.
	probeWriters = 8
	// oneCaller and manyCallers are the time that a change takes in addition to a sync, for one caller and for
	// callers that share syncs, rounded up from measurements on two cores.
	oneCaller   = 400 * time.Microsecond
	manyCallers = time.Millisecond
	callers     = 64
)

// checkDisk measures how long it takes until a small write, like a log write, is durable, and derives the rates that
// the disk allows.
func checkDisk(ctx context.Context, f *cli.Frame, dir string, x *findings) {
	subject := "disk at " + dir
	bar := cli.NewProgress(f)
	times, err := probe(ctx, dir, func(n int) { bar.Show("probing the disk", int64(n), probeWrites) })
	bar.End()
	if err != nil {
		x.add(levelFail, subject, "give a directory that the current user can write to", "cannot be tested: %v", err)
		return
	}
	if len(times) == 0 {
		return
	}
	half, most, worst := spread(times)
	l := levelOK
	switch {
	case most > badSync:
		l = levelFail
	case most > slowWrite:
		l = levelWarn
	}
	x.add(l, subject, "the disk allows few changes; for high write rates, use a dedicated local SSD",
		"a durable write of %s takes %v in the median, %v at the 99th percentile and %v at worst, in %d writes",
		cli.ByteText(probeBytes), duration(half.Seconds()), duration(most.Seconds()), duration(worst.Seconds()),
		len(times))
	x.add(levelOK, subject, "", "expect at least %d changes per second from one caller, and %d from %d callers, in "+
		"one shard on a single host with two processors",
		ratePerSecond(1, half+oneCaller), ratePerSecond(callers, half+manyCallers), callers)

	began := time.Now()
	times, err = probeTogether(ctx, f, dir)
	if err != nil || len(times) == 0 {
		return
	}
	rate := ratePerSecond(len(times), time.Since(began))
	half, most, worst = spread(times)
	x.add(levelOK, subject, "", "%d files written concurrently: %d durable writes per second; a write takes %v in "+
		"the median, %v at the 99th percentile and %v at worst", probeWriters, rate, duration(half.Seconds()),
		duration(most.Seconds()), duration(worst.Seconds()))
}

// spread returns the median, the 99th percentile and the maximum of durations.
func spread(times []time.Duration) (half, most, worst time.Duration) {
	slices.Sort(times)
	return times[len(times)/2], times[len(times)*99/100], times[len(times)-1]
}

func ratePerSecond(n int, in time.Duration) int { return int(float64(n) / in.Seconds()) }

// probeTogether returns the duration of every write while several files are written.
func probeTogether(ctx context.Context, f *cli.Frame, dir string) (times []time.Duration, err error) {
	bar := cli.NewProgress(f)
	defer bar.End()
	bar.Show("probing the disk with several writers", 0, 1)
	each, errs := make([][]time.Duration, probeWriters), make([]error, probeWriters)
	var writers sync.WaitGroup
	for i := range each {
		writers.Go(func() { each[i], errs[i] = probe(ctx, dir, func(int) {}) })
	}
	writers.Wait()
	return slices.Concat(each...), errors.Join(errs...)
}

// probe returns the duration of every write to a new file. probe reports how many writes are done.
func probe(ctx context.Context, dir string, report func(done int)) (times []time.Duration, err error) {
	file, err := os.CreateTemp(dir, ".signalbox-check-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	block := make([]byte, probeBytes)
	for began := time.Now(); len(times) < probeWrites && time.Since(began) < probeWithin && ctx.Err() == nil; {
		start := time.Now()
		if _, err := file.Write(block); err != nil {
			return nil, fmt.Errorf("write: %w", err)
		}
		if err := syncData(file); err != nil {
			return nil, fmt.Errorf("cannot sync: %w", err)
		}
		times = append(times, time.Since(start))
		report(len(times))
	}
	return times, nil
}

// duration converts seconds for display.
func duration(seconds float64) time.Duration {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d > time.Second:
		return d.Round(10 * time.Millisecond)
	case d > time.Millisecond:
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(100 * time.Nanosecond)
}

// syncData makes written data durable.
func syncData(file *os.File) error {
	for {
		if err := fdatasync(int(file.Fd())); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
