package identity

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// writeWhole writes a file of a directory, whole or not at all. The old file stays under the temporary name: the
// blocks of the old file hold room for the next file, which is written into them. So records can be replaced even on
// a disk filled up by other programs.
func writeWhole(dir, name string, text []byte, mode fs.FileMode) error {
	path, temporary := filepath.Join(dir, name), filepath.Join(dir, name+temporarySuffix)
	if err := writeInto(temporary, text, mode); err != nil {
		return err
	}
	if exchange(temporary, path) == nil {
		return syncDirectory(dir)
	}
	// The file does not exist yet, or the file system has no exchange.
	if err := os.Rename(temporary, path); err != nil {
		return err
	}
	if err := syncDirectory(dir); err != nil {
		return err
	}
	_ = writeInto(temporary, make([]byte, len(text)), mode) // without room held here the next record needs new room
	return nil
}

// writeFresh writes a file of a directory, whole or not at all, and always into a new file: content is called when
// the new file exists. A file under the temporary name holds the room for the next file, and is removed first.
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

// holdRoom holds room for the next file of a name. Without held room the next file needs new room.
func holdRoom(dir, name string, bytes int) {
	_ = writeInto(filepath.Join(dir, name+temporarySuffix), make([]byte, bytes), 0o640)
}

// heldBytes is the room held for a small file.
const heldBytes = 4096

// writeInto replaces the content of a file, in the file's own blocks, and makes the content durable.
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
