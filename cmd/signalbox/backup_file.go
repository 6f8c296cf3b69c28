package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/lni/vfs"

	"github.com/signalbox/signalbox/internal/freeing"
)

// partialSuffix marks a backup that is not whole.
const partialSuffix = ".partial"

// writeWhole makes a file of what write writes, or none.
func writeWhole(path string, write func(io.Writer) error) error {
	// Only its user may read it.
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*"+partialSuffix)
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // which fails once it is in its place
	// What is written waits for no sync until the end, but the disk gets it piece by piece: a host on the same disk
	// would wait for all of it.
	err = write(vfs.NewSyncingFile(file, vfs.SyncingFileOptions{BytesPerSync: pieceBytes}))
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := freeing.Rename(file.Name(), path); err != nil {
		return err
	}
	directory, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}

const (
	// pieceBytes is how much of a backup is written at a time.
	pieceBytes = 64 << 10
	// defaultRate is how much is in a second.
	defaultRate = 8 << 20
)

// steady writes no faster than so many bytes a second, piece by piece: what others do on the same machine, and on the
// disk, goes on in between.
type steady struct {
	ctx  context.Context
	w    io.Writer
	rate uint64 // 0: as fast as it goes

	due time.Time // of the next piece
}

// Write implements io.Writer.
func (s *steady) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		piece := p[:min(len(p), pieceBytes)]
		if err = s.wait(len(piece)); err != nil {
			break
		}
		var written int
		written, err = s.w.Write(piece)
		n, p = n+written, p[written:]
	}
	return n, err
}

// wait waits until a piece of so many bytes is due. Time that went by without any is not made up for.
func (s *steady) wait(bytes int) error {
	if s.rate == 0 {
		return nil
	}
	now := time.Now()
	if s.due.Before(now) {
		s.due = now
	}
	timer := time.NewTimer(s.due.Sub(now))
	defer timer.Stop()
	s.due = s.due.Add(time.Duration(bytes) * time.Second / time.Duration(s.rate))
	select {
	case <-timer.C:
		return nil
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}
