package outage

import (
	"bytes"

	"github.com/lni/vfs"
)

// recorded is a file, or a directory, with recorded changes.
type recorded struct {
	vfs.File
	data DataFile // the same file, if opened by OpenData
	r    *Recorder
	name string
	node int
	at   int64 // position of the next Write
}

// Write implements vfs.File.
func (re *recorded) Write(p []byte) (int, error) {
	re.r.mu.Lock()
	defer re.r.mu.Unlock()
	re.r.note(wrote{re.node, write{at: re.at, data: bytes.Clone(p)}})
	n, err := re.File.Write(p)
	re.at += int64(n)
	return n, err
}

// WriteAt implements vfs.File.
func (re *recorded) WriteAt(p []byte, at int64) (int, error) {
	re.r.mu.Lock()
	defer re.r.mu.Unlock()
	re.r.note(wrote{re.node, write{at: at, data: bytes.Clone(p)}})
	return re.File.WriteAt(p, at)
}

// Sync implements vfs.File.
func (re *recorded) Sync() error { return re.sync(re.File.Sync) }

// SyncData implements DataFile.
func (re *recorded) SyncData() error { return re.sync(re.data.SyncData) }

func (re *recorded) sync(do func() error) error {
	if re.r.Forget != nil && re.r.Forget(re.name) {
		return nil
	}
	sync := re.r.beginSync(re.node)
	if err := do(); err != nil {
		return err
	}
	re.r.endSync(re.node, sync)
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
