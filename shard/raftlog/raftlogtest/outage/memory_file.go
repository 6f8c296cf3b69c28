package outage

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// content is the content of a file as seen by readers. The file system's lock guards it.
type content struct{ bytes []byte }

// memoryFile is an open file or directory.
type memoryFile struct {
	m    *Memory
	name string
	node int
	at   int64 // position of the next Read or Write
	*content
}

// Close implements vfs.File.
func (*memoryFile) Close() error { return nil }

// Seek implements vfs.File.
func (f *memoryFile) Seek(to int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		to += f.at
	case io.SeekEnd:
		to += f.size()
	}
	f.at = to
	return to, nil
}

func (f *memoryFile) size() int64 {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	return int64(len(f.bytes))
}

// Read implements vfs.File.
func (f *memoryFile) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, f.at)
	f.at += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

// ReadAt implements vfs.File.
func (f *memoryFile) ReadAt(p []byte, at int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	n := copy(p, f.bytes[min(at, int64(len(f.bytes))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Write implements vfs.File.
func (f *memoryFile) Write(p []byte) (int, error) {
	n, err := f.WriteAt(p, f.at)
	f.at += int64(n)
	return n, err
}

// WriteAt implements vfs.File.
func (f *memoryFile) WriteAt(p []byte, at int64) (int, error) {
	if err := f.write(write{at: at, data: slices.Clone(p)}); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (f *memoryFile) write(w write) error {
	if err := f.m.before(Write, f.name); err != nil {
		return err
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.m.change(wrote{f.node, w})
	f.bytes = w.apply(f.bytes)
	return nil
}

// SyncData implements DataFile.
func (f *memoryFile) SyncData() error { return f.Sync() }

// Sync implements vfs.File.
func (f *memoryFile) Sync() error {
	f.m.mu.Lock()
	f.m.syncs++
	sync := f.m.syncs
	f.m.change(syncing{f.node, sync})
	f.m.mu.Unlock()
	if err := f.m.before(Sync, f.name); errors.Is(err, ErrSkipped) {
		return nil
	} else if err != nil {
		return err
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.m.change(synced{f.node, sync})
	if f.m.disk.nodes[f.node].directory {
		f.m.sweep()
	}
	return nil
}

// Stat implements vfs.File.
func (f *memoryFile) Stat() (os.FileInfo, error) {
	return memoryInfo{filepath.Base(f.name), f.size(), f.m.isDirectory(f.node)}, nil
}

func (m *Memory) isDirectory(n int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.disk.nodes[n].directory
}

// memoryInfo implements fs.FileInfo.
type memoryInfo struct {
	name      string
	size      int64
	directory bool
}

func (i memoryInfo) Name() string       { return i.name }
func (i memoryInfo) Size() int64        { return i.size }
func (i memoryInfo) IsDir() bool        { return i.directory }
func (i memoryInfo) ModTime() time.Time { return time.Time{} }
func (i memoryInfo) Sys() any           { return nil }

// Mode implements fs.FileInfo.
func (i memoryInfo) Mode() os.FileMode {
	if i.directory {
		return fs.ModeDir | 0o750
	}
	return 0o640
}
