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

// Faults that are not injected, and disturb every client.
const (
	machineBusy = "the machine is busy"
	diskBusy    = "the disk is busy"
)

// diskPause is the pause between disk measurements.
const diskPause = 100 * time.Millisecond

// recordSince is a record, and its clock's epoch.
type recordSince struct {
	record *history.Recorder
	epoch  time.Duration
}

// machineTime is the machine's monotonic clock, which neither jumps nor stops while a process is stopped.
func machineTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic("chaos: the monotonic clock cannot be read: " + err.Error())
	}
	return time.Duration(t.Nano())
}

// since counts from an epoch on the machine's clock, shared by all processes in a run.
func since(epoch time.Duration) func() history.Time {
	return func() history.Time { return machineTime() - epoch }
}

// recordStalls records stalls of this process as faults until stopped, because all connections run through this
// process. Stalls of the directory's disk, during which hosts answer no requests, are recorded too.
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

// withRunningTime returns a context that ends after d of running time in this process. Stalls hardly count.
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
