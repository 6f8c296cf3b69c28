package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/lni/vfs"

	"github.com/signalbox/signalbox/internal/backgrounddelete"
)

// KeepPrivate limits all of the process's files to modes 0640 and 0750, whatever the initial umask: the engine and
// its store create their files readable by all.
func KeepPrivate() { syscall.Umask(syscall.Umask(0o077) | 0o027) }

const (
	// PartialSuffix marks an incomplete file.
	PartialSuffix = ".partial"
	// PieceBytes is how much of a file is written at a time.
	PieceBytes = 64 << 10
)

// WriteWhole creates a file with the bytes from write, or no file.
func WriteWhole(path string, write func(io.Writer) error) error {
	// Only the file's user may read it.
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*"+PartialSuffix)
	if err != nil {
		return fmt.Errorf("cannot create %s: %w; the directory %s must exist and be writable",
			Safe(path), errors.Unwrap(err), Safe(filepath.Dir(path)))
	}
	defer os.Remove(file.Name()) // fails after the rename
	// Writes do not wait for a sync until the end, but bytes are flushed to the disk in pieces: otherwise a host on
	// that disk would wait for one large sync.
	err = write(vfs.NewSyncingFile(file, vfs.SyncingFileOptions{BytesPerSync: PieceBytes}))
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := backgrounddelete.Rename(file.Name(), path); err != nil {
		return err
	}
	directory, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}
