package raftlog

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"
	"strings"

	"github.com/lni/vfs"
)

// A store's CURRENT is the name of its manifest and nothing else, so one bit that is not what it was can make it the name of an
// older one; and in its OPTIONS one bit can make an option another one. They get a last line here, with a checksum of
// what is above it, that the store does not see.
const (
	currentName   = "CURRENT"
	optionsPrefix = "OPTIONS-"
	sealFormat    = "sum %08x\n"
	sealBytes     = len("sum 01234567\n")
)

func isCurrent(name string) bool { return filepath.Base(name) == currentName }

func isSealed(name string) bool {
	return isCurrent(name) || strings.HasPrefix(filepath.Base(name), optionsPrefix)
}

func sealOf(text []byte) string {
	return fmt.Sprintf(sealFormat, crc32.Checksum(text, castagnoli))
}

// seal puts the last line into a file that is complete and has another name so far.
func seal(fs vfs.FS, name string) error {
	text, err := readFile(fs, name)
	if err != nil {
		return err
	}
	file, err := fs.OpenForAppend(name)
	if err != nil {
		return err
	}
	_, err = io.WriteString(file, sealOf(text))
	return errors.Join(err, file.Sync(), file.Close())
}

// openSealed opens a file without its seal. Where the seal is not that of the file, the error is an ErrDamaged.
func openSealed(fs vfs.FS, name string) (vfs.File, error) {
	text, err := readFile(fs, name)
	if err != nil {
		return nil, err
	}
	end := max(0, len(text)-sealBytes)
	if string(text[end:]) != sealOf(text[:end]) {
		return nil, damagedFile(name, 0, nil)
	}
	return vfs.NewMemFile(text[:end]), nil
}

func readFile(fs vfs.FS, name string) ([]byte, error) {
	file, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	text := make([]byte, info.Size())
	_, err = io.ReadFull(file, text)
	return text, errors.Join(err, file.Close())
}
