package raftlog

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/lni/vfs"
)

const (
	manifestPrefix = "MANIFEST-"
	// manifestBuffer is a few times what a store writes to a manifest at once.
	manifestBuffer = 32 << 10
)

// manifestFile is a store's manifest, open for writing: which tables it has, and which log files it still needs. Like a log
// file it is read up to the first record that is not whole, so its last one matters most: a store that forgets it forgets a
// table. Nothing waits for a manifest, so every sync is two here, and the second brings the mark that the
// first was made. What was acknowledged is marked.
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
	m.sectors.hold()
	if err := m.sectors.mark(); err != nil {
		return err
	}
	return m.File.Sync()
}

// Close implements vfs.File.
func (m *manifestFile) Close() error { return errors.Join(m.sectors.flush(), m.File.Close()) }

func isManifest(name string) bool { return strings.HasPrefix(filepath.Base(name), manifestPrefix) }
