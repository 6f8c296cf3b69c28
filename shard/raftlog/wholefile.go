package raftlog

import (
	"errors"
	"path/filepath"

	"github.com/lni/vfs"
	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

// wholeNames are files the engine creates in a new directory. If a power failure left a partial file, the engine would
// regard it as damaged forever. So the files have a temporary name until they are complete.
var wholeNames = map[string]bool{"dragonboat.ds": true, "NODEHOST.ID": true}

const wholeSuffix = ".new"

func isWhole(name string) bool { return wholeNames[filepath.Base(name)] }

// wholeFile gets its final name when it is closed, if it was synced after the last write.
type wholeFile struct {
	vfs.File
	fs       vfs.FS
	name     string
	complete bool // synced, and not written since
}

func createWhole(fs vfs.FS, name string) (vfs.File, error) {
	file, err := fs.Create(name + wholeSuffix)
	if err != nil {
		return nil, err
	}
	return &wholeFile{File: file, fs: fs, name: name}, nil
}

// Write implements vfs.File.
func (w *wholeFile) Write(p []byte) (int, error) {
	w.complete = false
	return w.File.Write(p)
}

// Sync implements vfs.File.
func (w *wholeFile) Sync() error {
	err := w.File.Sync()
	w.complete = err == nil
	return err
}

// Close implements vfs.File.
func (w *wholeFile) Close() error {
	if err := w.File.Close(); err != nil || !w.complete {
		return err
	}
	return w.fs.Rename(w.name+wholeSuffix, w.name)
}

// writeDurably writes a file so that a power failure leaves either the complete file or nothing.
func writeDurably(fs vfs.FS, name string, text []byte) error {
	file, err := createWhole(fs, name)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return wal.SyncDirectory(fs, filepath.Dir(name))
}
