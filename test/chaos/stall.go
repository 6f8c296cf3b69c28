//go:build linux

package chaos

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/workload"
)

// The faults that are not injected. They disturb every client.
const (
	machineBusy = "the machine is busy"
	diskBusy    = "the disk is busy"
)

// diskPause is the pause between two measurements of the disk.
const diskPause = 100 * time.Millisecond

// recordSince is a record, and the epoch of its clock.
type recordSince struct {
	record *history.Recorder
	epoch  time.Duration
}

// machineTime is what the machine's monotonic clock shows. It neither jumps nor stands still while a process does.
func machineTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic("chaos: the monotonic clock cannot be read: " + err.Error())
	}
	return time.Duration(t.Nano())
}

// since counts from a moment of the machine's clock that all processes of a run share.
func since(epoch time.Duration) func() history.Time {
	return func() history.Time { return machineTime() - epoch }
}

// recordStalls records as faults, until it is stopped, when this process stands still: all connections run through it.
// It does so too when the disk of the directory stands still: hosts answer no request then.
func recordStalls(dir string, records ...recordSince) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	stood := func(what string, from, to time.Duration) {
		if to-from <= stillness {
			return
		}
		for _, r := range records {
			r.record.Add(history.Entry{Fault: &history.Fault{
				From: from - r.epoch, To: to - r.epoch, What: what, Client: -1,
			}})
		}
	}
	var work sync.WaitGroup
	work.Go(func() {
		for last := machineTime(); workload.Sleep(ctx, checkEvery); last = machineTime() {
			stood(machineBusy, last, machineTime())
		}
	})
	work.Go(func() {
		for workload.Sleep(ctx, diskPause) {
			began := machineTime()
			if touch(filepath.Join(dir, "probe")) != nil {
				return
			}
			stood(diskBusy, began, machineTime())
		}
	})
	return func() {
		cancel()
		work.Wait()
	}
}

// touch writes a little to a file, down to the disk.
func touch(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o640)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write([]byte{'.'}); err != nil {
		return err
	}
	return f.Sync()
}

// withRunningTime returns a context that ends when this process has run for so long. Time in which it stood still
// hardly counts.
func withRunningTime(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		for last := machineTime(); d > 0 && workload.Sleep(ctx, min(d, pollPause)); {
			now := machineTime()
			d -= min(now-last, stillness)
			last = now
		}
	}()
	return ctx, cancel
}
