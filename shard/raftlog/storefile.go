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

const (
	manifestPrefix = "MANIFEST-"
	// manifestBuffer is a few times what a store writes to a manifest at once.
	manifestBuffer = 32 << 10
)

// manifestFile is a store's manifest, open for writing: which tables it has, and which log files it still needs. Like a
// log file it is read up to the first record that is not whole, and a store that loses the last record loses a table.
// Nothing waits for a manifest, so every sync is two syncs here: the second writes the mark for the first. All that was
// acknowledged is marked.
type manifestFile struct {
	vfs.File
	sectors *sectorWriter
}

func newManifestFile(name string, file vfs.File) *manifestFile {
	return &manifestFile{File: file, sectors: newSectorWriter(file, fileNumber(name), manifestBuffer)}
}

// Write implements vfs.File.
func (m *manifestFile) Write(p []byte) (int, error) { return m.sectors.Write(p) }

// Sync implements vfs.File.
func (m *manifestFile) Sync() error {
	if err := m.sectors.flush(); err != nil {
		return err
	}
	if err := m.File.Sync(); err != nil {
		return err
	}
	m.sectors.markSynced()
	if err := m.sectors.writeMark(); err != nil {
		return err
	}
	return m.File.Sync()
}

// Close implements vfs.File.
func (m *manifestFile) Close() error { return errors.Join(m.sectors.flush(), m.File.Close()) }

func isManifest(name string) bool { return strings.HasPrefix(filepath.Base(name), manifestPrefix) }

// A store's CURRENT holds the name of its manifest and nothing else, so one flipped bit can make it the name of an
// older manifest, and in its OPTIONS one flipped bit can change an option. Here both get a last line with a checksum of
// what is above it, which the store does not see.
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

// seal appends the last line to a complete file, before that is renamed to its final name.
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

// openSealed opens a file without its seal. Where the seal is wrong, the error is an ErrDamaged.
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

// wholeNames are the files that the engine makes in a new directory, and which it takes for damaged for ever where a
// power failure left half of one. Here they have another name until they are complete.
var wholeNames = map[string]bool{"dragonboat.ds": true, "NODEHOST.ID": true}

const wholeSuffix = ".new"

func isWhole(name string) bool { return wholeNames[filepath.Base(name)] }

// wholeFile gets its final name when it is closed, if it was synced after the last write.
type wholeFile struct {
	vfs.File
	fs       vfs.FS
	name     string
	complete bool // it was synced, and not written since
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

// writeDurably writes a file so that a power failure leaves either all of it or none.
func writeDurably(fs vfs.FS, name string, text []byte) error {
	file, err := createWhole(fs, name)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return syncDirectory(fs, filepath.Dir(name))
}

// syncDirectory makes the names in a directory durable.
func syncDirectory(fs vfs.FS, dir string) error {
	directory, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}
