package outage

import (
	"bytes"

	"github.com/lni/vfs"
)

// recorded is a file, or a directory, whose changes are noted.
type recorded struct {
	vfs.File
	data DataFile // the same, where it is a file that was opened for that
	r    *Recorder
	name string
	node int
	at   int64 // where the next Write goes
}

// Write implements vfs.File.
func (f *recorded) Write(p []byte) (int, error) {
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	f.r.note(wrote{f.node, write{at: f.at, data: bytes.Clone(p)}})
	n, err := f.File.Write(p)
	f.at += int64(n)
	return n, err
}

// WriteAt implements vfs.File.
func (f *recorded) WriteAt(p []byte, at int64) (int, error) {
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	f.r.note(wrote{f.node, write{at: at, data: bytes.Clone(p)}})
	return f.File.WriteAt(p, at)
}

// Sync implements vfs.File.
func (f *recorded) Sync() error { return f.sync(f.File.Sync) }

// SyncData implements DataFile.
func (f *recorded) SyncData() error { return f.sync(f.data.SyncData) }

func (f *recorded) sync(do func() error) error {
	if f.r.Forget != nil && f.r.Forget(f.name) {
		return nil
	}
	sync := f.r.beginSync(f.node)
	if err := do(); err != nil {
		return err
	}
	f.r.endSync(f.node, sync)
	return nil
}

func (r *Recorder) beginSync(node int) (sync int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.syncs++
	r.note(syncing{node, r.syncs})
	return r.syncs
}

func (r *Recorder) endSync(node, sync int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(synced{node, sync})
}
