package status

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

const (
	// probeWrites is how many writes a disk is probed with, probeBytes how large each is, and probeWithin how
	// long it may take.
	probeWrites = 200
	probeBytes  = 4 << 10
	probeWithin = 20 * time.Second
	// badSync is the silence after which followers replace a leader: a disk that stands still for so long keeps the
	// leader silent.
	badSync = 300 * time.Millisecond
	// slowWrite is the time that 99 of 100 writes stay below on a disk for a busy host.
	slowWrite = 10 * time.Millisecond
)

// checkDisk measures how long it takes until a small write is durable, as those of the log are.
func checkDisk(ctx context.Context, f *cli.Frame, dir string, x *findings) {
	subject := "disk at " + dir
	times, err := probe(ctx, f, dir)
	if err != nil {
		x.add(levelFail, subject, "name a directory that this user can write to", "it cannot be probed: %v", err)
		return
	}
	if len(times) == 0 {
		return
	}
	slices.Sort(times)
	half, most := times[len(times)/2], times[len(times)*99/100]
	l := levelOK
	switch {
	case most > badSync:
		l = levelFail
	case most > slowWrite:
		l = levelWarn
	}
	x.add(l, subject, "it will do for few changes; for many, use a local SSD that others do not use as well",
		"a durable write of %s takes %v in the median and %v for 99 of 100, of %d", cli.ByteText(probeBytes),
		duration(half.Seconds()), duration(most.Seconds()), len(times))
}

// probe returns how long each of some writes took.
func probe(ctx context.Context, f *cli.Frame, dir string) (times []time.Duration, err error) {
	file, err := os.CreateTemp(dir, ".signalbox-check-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	bar := cli.NewProgress(f)
	defer bar.End()
	block := make([]byte, probeBytes)
	for began := time.Now(); len(times) < probeWrites && time.Since(began) < probeWithin && ctx.Err() == nil; {
		start := time.Now()
		if _, err := file.Write(block); err != nil {
			return nil, fmt.Errorf("write: %w", err)
		}
		if err := syncData(file); err != nil {
			return nil, fmt.Errorf("make durable: %w", err)
		}
		times = append(times, time.Since(start))
		bar.Show("probing the disk", int64(len(times)), probeWrites)
	}
	return times, nil
}

// duration shows seconds to people.
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

// syncData makes what was written durable.
func syncData(file *os.File) error {
	for {
		if err := fdatasync(int(file.Fd())); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
