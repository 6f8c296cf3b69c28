//go:build linux

package chaos

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/workload"
)

// What hinders everybody, though nobody lets it happen.
const (
	machineBusy = "the machine is busy"
	diskBusy    = "the disk is busy"
)

// diskPause is the pause between two looks at how fast the disk is.
const diskPause = 100 * time.Millisecond

// noteStalls takes down when this process stands still, until it is told to stop: then everybody may suffer, because
// all connections run through it. It does so too when the disk that the directory is on does: hosts answer nobody
// while it takes nothing.
func noteStalls(dir string, journals ...*journal) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	stood := func(what string, from, to time.Duration) {
		if to-from <= stillness {
			return
		}
		for _, j := range journals {
			j.take(entry{Fault: &history.Fault{From: from - j.clock.epoch, To: to - j.clock.epoch, What: what, Client: -1}})
		}
	}
	var work sync.WaitGroup
	work.Go(func() {
		for last := machineTime(); workload.Sleep(ctx, lookEvery); last = machineTime() {
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

// awake returns a context that ends when this process has run for so long. Time in which it stood still hardly counts:
// nobody could do anything in it.
func awake(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		for last := machineTime(); d > 0 && workload.Sleep(ctx, min(d, askAgain)); {
			now := machineTime()
			d -= min(now-last, stillness)
			last = now
		}
	}()
	return ctx, cancel
}
