package identity

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// writeWhole writes a file of a directory, all of it or nothing. The file before it stays under the temporary name: its
// blocks hold room for the next one, which is written into them. So a disk that others have filled since keeps no
// record from being replaced.
func writeWhole(dir, name string, text []byte, mode fs.FileMode) error {
	path, temporary := filepath.Join(dir, name), filepath.Join(dir, name+temporarySuffix)
	if err := writeInto(temporary, text, mode); err != nil {
		return err
	}
	if exchange(temporary, path) == nil {
		return syncDirectory(dir)
	}
	// There is no file yet, or the file system exchanges none.
	if err := os.Rename(temporary, path); err != nil {
		return err
	}
	if err := syncDirectory(dir); err != nil {
		return err
	}
	_ = writeInto(temporary, make([]byte, len(text)), mode) // without it the next record needs room of its own
	return nil
}

// writeFresh writes a file of a directory, all of it or nothing, and into a file that was not there before: its content
// is made when that file is there. A file under the temporary name holds the room of the next one, and goes first.
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

// holdRoom holds room for the next file of a name. Without any that one needs room of its own.
func holdRoom(dir, name string, bytes int) {
	_ = writeInto(filepath.Join(dir, name+temporarySuffix), make([]byte, bytes), 0o640)
}

// heldBytes is what is held for a small file.
const heldBytes = 4096

// writeInto replaces the content of a file, in the blocks that it has, and makes that durable.
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
