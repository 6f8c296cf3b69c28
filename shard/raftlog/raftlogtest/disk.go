package raftlogtest

import (
	"io"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/signalbox/signalbox/shard/raftlog"
	"github.com/signalbox/signalbox/shard/raftlog/internal/direct"
	"github.com/signalbox/signalbox/shard/raftlog/raftlogtest/outage"
)

// Disk is one host's disk in memory, between two starts of the machine or the process. The function that ends one
// returns the next. An ended process may continue with its own disk, which is no longer read.
type Disk struct {
	memory *outage.Memory
	faults *faults

	trapping sync.RWMutex // held by steps in their trap
	trap     func(Step) error

	ended chan struct{} // closed when the process has ended: the remains see no faults
	steps atomic.Int64
	syncs atomic.Int64

	mu      sync.Mutex // guards what follows
	locked  map[string]bool
	hurries int           // how often Hurry is under way
	hurried chan struct{} // closed while hurried
}

// faults are a disk's faults, kept across processes.
type faults struct {
	mu   sync.Mutex
	slow func() time.Duration
	full bool
	skip func(name string) bool
	free chan struct{} // closed when a stuck disk continues; nil: not stuck
}

// Step is the next operation on a disk.
type Step struct {
	outage.Step
	Number int64 // counted from the process start
}

// segmentBytes is the log file size: small, so that files are rewritten and removed often.
const segmentBytes = 256 << 10

// logSuffix is the suffix of log files.
const logSuffix = ".wal"

// IsLog reports whether a step is in the write-ahead log.
func (s Step) IsLog() bool {
	return strings.HasSuffix(s.Name, logSuffix) || filepath.Base(filepath.Dir(s.Name)) == "log"
}

// TakesRoom reports whether a full disk refuses a step.
func (s Step) TakesRoom() bool { return s.Kind == outage.Write || s.Kind == outage.Create }

// NewDisk returns an empty disk with one directory.
func NewDisk(directory string) *Disk { return newDisk(outage.NewMemory(directory), new(faults)) }

func newDisk(m *outage.Memory, f *faults) *Disk {
	d := &Disk{
		memory: m, faults: f, ended: make(chan struct{}), hurried: make(chan struct{}), locked: make(map[string]bool),
	}
	m.Before = d.before
	return d
}

// Files is the disk in the form used by a host.
func (d *Disk) Files() *raftlog.Files {
	return &raftlog.Files{
		FS: d.memory, SegmentBytes: segmentBytes, LockDirectory: d.lock,
		OpenData: func(name string) (direct.File, error) { return d.memory.OpenData(name) },
	}
}

// Names lists all files on the disk.
func (d *Disk) Names() []string { return d.memory.Names() }

// Syncs and Steps count operations since the process start.
func (d *Disk) Syncs() int64 { return d.syncs.Load() }

// Steps counts writes, syncs, and name changes.
func (d *Disk) Steps() int64 { return d.steps.Load() }

// PowerFailure returns the disk as a machine may find it after a power failure now.
func (d *Disk) PowerFailure(draw outage.Draw) *Disk {
	return newDisk(d.memory.AfterPowerFailure(draw), d.faults)
}

// Kill returns the disk as the next process finds it after a kill now. It also serves as a copy, for a later rollback
// of the directory.
func (d *Disk) Kill() *Disk { return newDisk(d.memory.AfterKill(), d.faults) }

// Slow sets the duration of log syncs; nil: no time.
func (d *Disk) Slow(f func() time.Duration) { d.faults.change(func(a *faults) { a.slow = f }) }

// Stick blocks log syncs until the disk is no longer stuck, or the process has ended.
func (d *Disk) Stick(stuck bool) {
	d.faults.change(func(a *faults) {
		switch {
		case stuck && a.free == nil:
			a.free = make(chan struct{})
		case !stuck && a.free != nil:
			close(a.free)
			a.free = nil
		}
	})
}

// Full makes the disk refuse writes and new files, or accept them again.
func (d *Disk) Full(full bool) { d.faults.change(func(a *faults) { a.full = full }) }

// Trap calls a function before each step of the process, which may fail it with an error; nil: none. In a sync nothing
// is durable yet. When Trap returns, no step is in the previous trap.
func (d *Disk) Trap(f func(Step) error) {
	d.trapping.Lock()
	defer d.trapping.Unlock()
	d.trap = f
}

// trapped calls the trap, if any.
func (d *Disk) trapped(s Step) error {
	d.trapping.RLock()
	defer d.trapping.RUnlock()
	if d.trap == nil {
		return nil
	}
	return d.trap(s)
}

// Skip makes the disk report some syncs without doing them: a bug to be detected.
func (d *Disk) Skip(f func(name string) bool) { d.faults.change(func(a *faults) { a.skip = f }) }

// Hurry makes syncs take no time until the returned function is called, including running ones, because the caller may
// wait for one.
func (d *Disk) Hurry() (end func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hurries++; d.hurries == 1 {
		close(d.hurried)
	}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.hurries--; d.hurries == 0 {
			d.hurried = make(chan struct{})
		}
	}
}

func (f *faults) change(do func(*faults)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do(f)
}

// before is called before each step.
func (d *Disk) before(s outage.Step) error {
	select {
	case <-d.ended:
		return nil
	default:
	}
	step := Step{s, d.steps.Add(1)}
	if err := d.trapped(step); err != nil {
		return err
	}
	d.faults.mu.Lock()
	slow, full, skip, free := d.faults.slow, d.faults.full, d.faults.skip, d.faults.free
	d.faults.mu.Unlock()
	switch {
	case full && step.TakesRoom():
		return syscall.ENOSPC
	case s.Kind != outage.Sync:
		return nil
	case skip != nil && skip(s.Name):
		return outage.ErrSkipped
	}
	d.syncs.Add(1)
	if filepath.Ext(s.Name) == logSuffix {
		d.delay(slow, free)
	}
	return nil
}

// delay makes a sync take a slow disk's time, and wait for a stuck one.
func (d *Disk) delay(slow func() time.Duration, free <-chan struct{}) {
	d.mu.Lock()
	hurried := d.hurried
	d.mu.Unlock()
	if slow != nil {
		timer := time.NewTimer(slow())
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-hurried:
		case <-d.ended:
		}
	}
	if free != nil {
		select {
		case <-free:
		case <-hurried:
		case <-d.ended:
		}
	}
}

// lock implements raftlog.Files.
func (d *Disk) lock(dir string) (io.Closer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.locked[dir] {
		return nil, raftlog.ErrDirectoryInUse
	}
	d.locked[dir] = true
	return unlock{d, dir}, nil
}

type unlock struct {
	d   *Disk
	dir string
}

// Close implements io.Closer.
func (u unlock) Close() error {
	u.d.mu.Lock()
	defer u.d.mu.Unlock()
	delete(u.d.locked, u.dir)
	return nil
}
