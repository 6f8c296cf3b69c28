package raftlog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lni/vfs"
	"github.com/signalbox/signalbox/shard/raftlog/internal/direct"
)

const (
	// preparedName is the file, beside the log files of a store, that becomes its next one. The store ignores the name.
	preparedName = "prepared"
	// preparedAfter is how much must have been written to a store before a file is prepared for it: an idle host does
	// not pay for one.
	preparedAfter = 64 << 10
	// preparedLeast is the size of the first: enough for the first two files of a store, and written in a few
	// milliseconds.
	preparedLeast = 1 << 20
	// preparedStep is written and synced at a time, with preparedPause between two steps, so that the log's own syncs
	// find the disk free, and everything else a processor.
	preparedStep  = 256 << 10
	preparedPause = 2 * time.Millisecond
	// preparedReserve is how many such files must fit on the disk for one to be made.
	preparedReserve = 16
	// preparedGrowth: each log file of a store is up to twice as large as the one before it. A file that is prepared
	// while another is written comes two files after the latest complete one.
	preparedGrowth = 4
)

// files is the file system of the log stores. It adds log files whose blocks have all been written before. To sync a
// file that grows, the file system must write its journal too, which takes about as long again, and several hosts on
// one disk wait for each other at the journal.
//
// For that reason the store itself uses its old log files again, but not the first of each size, nor those of an
// earlier run. What an old file still holds does no harm: each record carries the number of its file.
//
// Log files are also written past the operating system's cache (sector.go). That halves the time of a sync again, and
// keeps it short while other programs write to the same disk.
//
// Files are prepared in the background, except the first and small one, and only where there is ample room. Without a
// prepared file everything works, slower.
//
// Damage can be distinguished from what a power failure leaves: by marks in log files and manifests (sector.go), a seal
// on what names the manifest (storefile.go), and a check of tables before they are used (checksum.go). And a power
// failure leaves no half of a file that the engine expects to be whole (storefile.go).
type files struct {
	vfs.FS
	open   func(name string) (diskFile, error) // a log file
	limit  int64                               // a log file does not become much larger
	synced func(time.Duration)                 // is called with the duration of each sync of a log file
	// damaged, where set, is called with a snapshot that is missing when the engine needs it. The engine removes no
	// snapshot that a record of the log still refers to, so another program has removed it.
	damaged func(error)

	mu     sync.Mutex
	closed bool
	stores map[string]*store // by directory
	stop   chan struct{}
	making sync.WaitGroup
}

// store is the log files of one directory.
type store struct {
	written atomic.Int64 // since it was opened
	last    atomic.Int64 // to the latest file that is complete
	// positions is used by the one goroutine that writes.
	positions positions

	// guarded by files.mu
	prepared bool
	making   bool
}

func newFiles(limit int64, synced func(time.Duration)) *files {
	if synced == nil {
		synced = func(time.Duration) {}
	}
	return &files{
		FS: vfs.Default, open: direct.Open, limit: limit, synced: synced,
		stores: make(map[string]*store), stop: make(chan struct{}),
	}
}

// close gives up the files that are being prepared. The stores are closed already.
func (f *files) close() {
	f.mu.Lock()
	f.closed = true
	close(f.stop)
	f.mu.Unlock()
	f.making.Wait()
}

// Create implements vfs.FS.
func (f *files) Create(name string) (vfs.File, error) {
	if isLogFile(name) {
		return f.createLog(name)
	}
	if isWhole(name) {
		return createWhole(f.FS, name)
	}
	file, err := f.FS.Create(name)
	if err == nil && isManifest(name) {
		return newManifestFile(name, file), nil
	}
	return file, err
}

// createLog creates a log file. A prepared one is not empty, but holds nothing that its reader would parse as a record.
func (f *files) createLog(name string) (vfs.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.store(name)
	least := min(f.limit, preparedLeast)
	if !s.prepared && !s.making && f.hasRoom(name, least) {
		s.prepared = f.make(preparedPath(name), least, 0) == nil
	}
	if file := f.usePrepared(s, name); file != nil {
		return file, nil
	}
	return f.logFile(s, name)(f.FS.Create(name))
}

// Open implements vfs.FS.
func (f *files) Open(name string, options ...vfs.OpenOption) (vfs.File, error) {
	if isSealed(name) {
		return openSealed(f.FS, name)
	}
	file, err := f.FS.Open(name, options...)
	if isSnapshot(name) && errors.Is(err, fs.ErrNotExist) {
		err = missingFile(name)
		if f.damaged != nil {
			f.damaged(err)
		}
	}
	return file, err
}

// Rename implements vfs.FS.
func (f *files) Rename(oldName, newName string) error {
	if isSealed(newName) {
		if err := seal(f.FS, oldName); err != nil {
			return err
		}
	}
	return f.FS.Rename(oldName, newName)
}

// Stat implements vfs.FS. When a store is opened it asks for the sizes of the tables that it needs and of no others, so
// this is where they are verified.
func (f *files) Stat(name string) (os.FileInfo, error) {
	if isTable(name) {
		if err := verifyTable(f.FS, name); err != nil {
			return nil, err
		}
	}
	return f.FS.Stat(name)
}

// ReuseForWrite implements vfs.FS. A file that will have to grow is worth less than a prepared one.
func (f *files) ReuseForWrite(oldName, newName string) (vfs.File, error) {
	if !isLogFile(newName) {
		return f.FS.ReuseForWrite(oldName, newName)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.store(newName)
	if f.size(oldName) < min(f.limit, 2*s.last.Load()) {
		if file := f.usePrepared(s, newName); file != nil {
			return file, f.FS.Remove(oldName)
		}
	}
	return f.logFile(s, newName)(f.FS.ReuseForWrite(oldName, newName))
}

// Remove implements vfs.FS. A removed log file of full size becomes the prepared one.
func (f *files) Remove(name string) error {
	if isLogFile(name) && f.size(name) >= f.limit {
		f.mu.Lock()
		defer f.mu.Unlock()
		s := f.store(name)
		if !s.prepared && !s.making && f.FS.Rename(name, preparedPath(name)) == nil {
			s.prepared = true
			return nil
		}
	}
	return f.FS.Remove(name)
}

// store returns the store of a log file. The lock is held.
func (f *files) store(name string) *store {
	dir := filepath.Dir(name)
	s := f.stores[dir]
	if s == nil {
		_, err := f.FS.Stat(preparedPath(name)) // an earlier run left it
		s = &store{prepared: err == nil}
		f.stores[dir] = s
	}
	return s
}

// usePrepared renames the prepared file of a store, if there is one, and opens it. The lock is held.
func (f *files) usePrepared(s *store, name string) vfs.File {
	if !s.prepared {
		return nil
	}
	s.prepared = false
	file, err := f.logFile(s, name)(f.FS.ReuseForWrite(preparedPath(name), name))
	if err != nil {
		return nil
	}
	return file
}

// prepare prepares the next file of a store, unless one is prepared or in the making.
func (f *files) prepare(s *store, name string) {
	size := max(preparedLeast, preparedGrowth*s.last.Load())
	size = min(f.limit, (size+preparedStep-1)/preparedStep*preparedStep)
	if !f.hasRoom(name, size) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || s.prepared || s.making {
		return
	}
	s.making = true
	f.making.Go(func() {
		err := f.make(preparedPath(name), size, preparedPause)
		f.mu.Lock()
		s.making, s.prepared = false, err == nil
		f.mu.Unlock()
	})
}

func (f *files) hasRoom(name string, size int64) bool {
	usage, err := f.FS.GetDiskUsage(filepath.Dir(name))
	return err == nil && usage.AvailBytes/preparedReserve >= uint64(size)
}

// make writes a file of zeros, which takes its name when it is complete.
func (f *files) make(name string, size int64, pause time.Duration) (err error) {
	partial := name + ".partial"
	file, err := f.open(partial)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.FS.Remove(partial) // if that fails too, the next one overwrites it
		}
	}()
	err = f.fill(file, size, pause)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	return f.FS.Rename(partial, name)
}

func (f *files) fill(file diskFile, size int64, pause time.Duration) error {
	zeros := direct.Memory(preparedStep)
	for at := int64(0); at < size; at += preparedStep {
		select {
		case <-f.stop:
			return os.ErrClosed
		case <-time.After(pause):
		}
		if _, err := file.WriteAt(zeros[:min(size-at, preparedStep)], at); err != nil {
			return err
		}
		if err := file.SyncData(); err != nil {
			return err
		}
	}
	return file.Sync()
}

// size returns the size of a file, 0 where that cannot be read.
func (f *files) size(name string) int64 {
	info, err := f.FS.Stat(name)
	if err != nil {
		return 0
	}
	return info.Size()
}

// logFile returns a function that reopens a file that the file system opened as one of the store's log.
func (f *files) logFile(s *store, name string) func(vfs.File, error) (vfs.File, error) {
	return func(opened vfs.File, err error) (vfs.File, error) {
		if err != nil {
			return nil, err
		}
		if err := opened.Close(); err != nil {
			return nil, err
		}
		file, err := f.open(name)
		if err != nil {
			return nil, err
		}
		return newLogFile(f, s, name, file), nil
	}
}

// preparedPath is the path of the prepared file of a log file's store.
func preparedPath(name string) string { return filepath.Join(filepath.Dir(name), preparedName) }

// noFaults makes the engine accept this file system: except its own it accepts only one that injects errors. This one
// injects none.
type noFaults struct{}

// MaybeError implements vfs.Injector.
func (noFaults) MaybeError(vfs.Op) error { return nil }
