package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/lni/vfs"

	"github.com/signalbox/signalbox/internal/backgrounddelete"
)

// KeepPrivate makes all files of the process 0640 and 0750 at the most, whatever the umask at the start: the engine and
// its store make their files open to all.
func KeepPrivate() { syscall.Umask(syscall.Umask(0o077) | 0o027) }

const (
	// PartialSuffix marks a file that is not whole.
	PartialSuffix = ".partial"
	// PieceBytes is how much of a file is written at a time.
	PieceBytes = 64 << 10
)

// WriteWhole makes a file of the bytes from write, or no file.
func WriteWhole(path string, write func(io.Writer) error) error {
	// Only the user of the file may read the file.
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*"+PartialSuffix)
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // fails after the rename
	// A write waits for no sync until the end, but the disk gets the bytes piece by piece: a host on that disk would
	// wait for a sync of the whole.
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
