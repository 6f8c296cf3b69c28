package raftlog

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/lni/vfs"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog/internal/direct"
)

var fullPoints = flag.Int("full.points", 24, "at how many of the writes of a host its disk is full")

// fillingDisk is a disk without free space after the given number of writes.
type fillingDisk struct {
	vfs.FS
	only string // if set, only paths that contain only count
	left atomic.Int64
}

func (f *fillingDisk) write(name string) error {
	if strings.Contains(name, f.only) && f.left.Add(-1) < 0 {
		return &os.PathError{Op: "write", Path: name, Err: syscall.ENOSPC}
	}
	return nil
}

func (f *fillingDisk) file(name string, open func(string) (vfs.File, error)) (vfs.File, error) {
	if err := f.write(name); err != nil {
		return nil, err
	}
	file, err := open(name)
	return fillingFile{file, f, name}, err
}

func (f *fillingDisk) Create(name string) (vfs.File, error) {
	return f.file(name, f.FS.Create)
}

func (f *fillingDisk) OpenForAppend(name string) (vfs.File, error) {
	return f.file(name, f.FS.OpenForAppend)
}

func (f *fillingDisk) MkdirAll(name string, mode os.FileMode) error {
	if err := f.write(name); err != nil {
		return err
	}
	return f.FS.MkdirAll(name, mode)
}

func (f *fillingDisk) Rename(from, to string) error {
	if err := f.write(from); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

// openData opens a log file.
func (f *fillingDisk) openData(name string) (direct.File, error) {
	if err := f.write(name); err != nil {
		return nil, err
	}
	file, err := direct.Open(name)
	return fillingData{file, f, name}, err
}

type fillingFile struct {
	vfs.File
	disk *fillingDisk
	name string
}

func (f fillingFile) Write(p []byte) (int, error) {
	if err := f.disk.write(f.name); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}

func (f fillingFile) Sync() error {
	if err := f.disk.write(f.name); err != nil {
		return err
	}
	return f.File.Sync()
}

type fillingData struct {
	direct.File
	disk *fillingDisk
	name string
}

func (f fillingData) WriteAt(p []byte, at int64) (int, error) {
	if err := f.disk.write(f.name); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, at)
}

// fullHost is a host with a disk that fills up. A host that cannot continue reports this, and stops, like an exiting
// process.
type fullHost struct {
	*powerHost
	stopped      chan struct{}
	acknowledged atomic.Int64
}

// live opens the host and runs batches, until the host stops. It returns the start's error.
func (f *fullHost) live(disk *disk, batches []string) error {
	config := f.config
	config.Damaged = func(err error) {
		if !NoRoom(err) {
			f.t.Errorf("the host stops for another reason: %v", err)
		}
		close(f.stopped)
		select {}
	}
	failed := make(chan error, 1)
	go func() {
		host, err := open(config, disk)
		if err != nil {
			failed <- err
			return
		}
		m := &member{t: f.t, config: config, host: host}
		m.start(newRecorder())
		switch err := m.awaitBarrier(f.stopped); {
		case errors.Is(err, errStopped):
			return
		case err != nil:
			failed <- err
			return
		}
		for _, batch := range batches {
			if o, err := offer(m.log, batch); err != nil || o != shard.OutcomeApplied {
				break
			}
			f.acknowledged.Add(1)
		}
		_ = m.log.(*Log).saveSnapshot(dropAll) // aborted without space
		m.close()
		failed <- nil
	}()
	select {
	case err := <-failed:
		return err
	case <-f.stopped:
		return nil
	}
}

// TestADiskThatFillsUpAtAnyWriteLosesNothing: no write panics for lack of space. Either the host continues without
// optional work, or the host reports that it cannot continue, and has its full state when restarted with space.
func TestADiskThatFillsUpAtAnyWriteLosesNothing(t *testing.T) {
	const writes = 400 // more than occur
	one := newPowerHost(t)
	var batches []string
	for i := range 40 {
		batches = append(batches, fmt.Sprintf("batch %d %x", i, make([]byte, one.random.IntN(3000))))
	}
	var work sync.WaitGroup
	var stopped, refused atomic.Int32
	places := make(chan int64)
	for range 8 {
		work.Go(func() {
			for at := range places {
				p := *one
				p.root = t.TempDir()
				p.config.DataDir = filepath.Join(p.root, "host")
				f := &fullHost{powerHost: &p, stopped: make(chan struct{})}
				filling := &fillingDisk{FS: vfs.Default}
				filling.left.Store(at)
				disk := &disk{Files: Files{FS: filling, OpenData: filling.openData, LockDirectory: lockDirectory,
					SegmentBytes: 1 << 20}}
				if err := f.live(disk, batches); err != nil {
					refused.Add(1)
					if !NoRoom(err) {
						t.Errorf("full at write %d: the start fails with %v", at, err)
					}
				}
				select {
				case <-f.stopped:
					stopped.Add(1)
				default:
				}
				if err := f.again(batches); err != nil {
					t.Errorf("full at write %d: %v", at, err)
				}
			}
		})
	}
	places <- 1
	for i := range int64(*fullPoints) {
		places <- i*writes/int64(*fullPoints) + one.random.Int64N(max(1, writes/int64(*fullPoints)))
	}
	close(places)
	work.Wait()
	t.Logf("%d starts were refused, %d hosts stopped", refused.Load(), stopped.Load())
	if refused.Load() == 0 || stopped.Load() == 0 {
		t.Errorf("%d starts were refused and %d hosts stopped: one of both was not tried", refused.Load(),
			stopped.Load())
	}
}

// again starts a host on a copy of the data, with space, and checks for the acknowledged batches.
func (f *fullHost) again(batches []string) error {
	config := f.config
	config.DataDir = filepath.Join(f.root, "again")
	err := os.CopyFS(config.DataDir, os.DirFS(f.config.DataDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // the directory was not even made
		return err
	}
	host, err := Open(config)
	if err != nil {
		return err
	}
	m := &member{t: f.t, config: config, host: host}
	defer m.close()
	m.start(newRecorder())
	if err := m.awaitBarrier(nil); err != nil {
		return err
	}
	applied := m.machine.applied()
	if n := int(f.acknowledged.Load()); len(applied) < n {
		return fmt.Errorf("%d of %d acknowledged batches are there", len(applied), n)
	}
	for i, batch := range applied {
		if batch != batches[i] {
			return fmt.Errorf("batch %d is another one", i)
		}
	}
	return nil
}

// TestASnapshotForWhichThereIsNoRoomIsGivenUp: whichever write fails; the snapshot is saved once there is space. The
// log remains, and the host continues meanwhile.
func TestASnapshotForWhichThereIsNoRoomIsGivenUp(t *testing.T) {
	p := newPowerHost(t)
	p.config.SnapshotBytes, p.config.Damaged = 1000*BatchBytes, func(err error) { t.Errorf("the host stops: %v", err) }
	filling := &fillingDisk{FS: vfs.Default, only: savedSuffix}
	filling.left.Store(math.MaxInt64)
	host, err := open(p.config, &disk{Files: Files{FS: filling, OpenData: filling.openData,
		LockDirectory: lockDirectory}})
	if err != nil {
		t.Fatal(err)
	}
	m := &member{t: t, config: p.config, host: host}
	defer m.close()
	m.start(newRecorder())
	leaderOf(t, []*member{m})
	log := m.log.(*Log)
	proposed := 0
	for at, saved := int64(0), false; !saved; at++ {
		err := errSnapshot
		// The engine may still be aborting the previous snapshot, and then accepts no other with the same index.
		eventually(t, "the engine to begin a snapshot", func() bool {
			proposed++
			m.mustPropose(proposed-1, proposed)
			filling.left.Store(at)
			err = log.saveSnapshot(dropAll)
			return err == nil || filling.left.Load() < 0
		})
		saved = err == nil
		if !saved && (!errors.Is(err, errSnapshot) || log.machine.growth.sinceSnapshot() == 0) {
			t.Errorf("full at write %d: %v, %d bytes are to be saved", at, err, log.machine.growth.sinceSnapshot())
		}
		if saved && (filling.left.Load() < 0 || at < 5) {
			t.Errorf("the snapshot is saved after %d writes, %d were left", at, filling.left.Load())
		}
		filling.left.Store(math.MaxInt64)
	}
	if bytes := log.machine.growth.sinceSnapshot(); bytes > 0 {
		t.Errorf("%d bytes are to be saved behind the snapshot", bytes)
	}
}
