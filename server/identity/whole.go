package identity

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// writeWhole writes a file to a directory atomically. The old file stays under the temporary name: its blocks reserve
// space for the next file, which is written into them. So records can be replaced even if other programs have filled
// the disk.
func writeWhole(dir, name string, text []byte, mode fs.FileMode) error {
	path, temporary := filepath.Join(dir, name), filepath.Join(dir, name+temporarySuffix)
	if err := writeInto(temporary, text, mode); err != nil {
		return err
	}
	if exchange(temporary, path) == nil {
		return syncDirectory(dir)
	}
	// The file does not exist yet, or the file system cannot exchange names.
	if err := os.Rename(temporary, path); err != nil {
		return err
	}
	if err := syncDirectory(dir); err != nil {
		return err
	}
	_ = writeInto(temporary, make([]byte, len(text)), mode) // otherwise the next record needs new disk space
	return nil
}

// writeFresh writes a file to a directory atomically, and always into a new file: content is called when the new file
// exists. A file under the temporary name reserves space for the next file, and is removed first.
func writeFresh(dir, name string, mode fs.FileMode, content func(*os.File) ([]byte, error)) error {
	path, temporary := filepath.Join(dir, name), filepath.Join(dir, name+temporarySuffix)
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	text, err := content(file)
	if err == nil {
		_, err = file.Write(text)
	}
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		return err
	}
	if err := syncDirectory(dir); err != nil {
		return err
	}
	holdRoom(dir, name, heldBytes)
	return nil
}

// holdRoom reserves disk space for the next version of a file. Without the reserve, the next version needs new disk
// space.
func holdRoom(dir, name string, bytes int) {
	_ = writeInto(filepath.Join(dir, name+temporarySuffix), make([]byte, bytes), 0o640)
}

// heldBytes is the space reserved for a small file.
const heldBytes = 4096

// writeInto replaces a file's content in its own blocks, and makes the content durable.
func writeInto(path string, text []byte, mode fs.FileMode) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Truncate(int64(len(text)))
	}
	return errors.Join(err, file.Sync(), file.Close())
}
