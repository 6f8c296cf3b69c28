package raftlog

import (
	"testing"

	"github.com/lni/vfs"
)

// syncCounter is a file system that counts unsynced file data.
type syncCounter struct {
	vfs.FS
	unsynced, most int
}

func (s *syncCounter) Create(name string) (vfs.File, error) {
	file, err := s.FS.Create(name)
	return countedFile{file, s}, err
}

func (s *syncCounter) OpenForAppend(name string) (vfs.File, error) {
	file, err := s.FS.OpenForAppend(name)
	return countedFile{file, s}, err
}

type countedFile struct {
	vfs.File
	of *syncCounter
}

func (c countedFile) Write(p []byte) (int, error) {
	c.of.unsynced += len(p)
	c.of.most = max(c.of.most, c.of.unsynced)
	return c.File.Write(p)
}

func (c countedFile) Sync() error {
	c.of.unsynced = 0
	return c.File.Sync()
}

// TestASnapshotGoesToTheDiskPieceByPiece: the host's log is on the same disk, and would wait for the whole snapshot.
func TestASnapshotGoesToTheDiskPieceByPiece(t *testing.T) {
	const block, blocks = 2 << 20, 8
	counter := &syncCounter{FS: vfs.NewMem()}
	d := disk{Files: Files{FS: counter}}
	for name, most := range map[string]int{"snapshot-1.gbsnap": 1<<20 + 2*snapshotPiece, "other": block * blocks} {
		counter.unsynced, counter.most = 0, 0
		file, err := d.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		for range blocks {
			if _, err := file.Write(make([]byte, block)); err != nil {
				t.Fatal(err)
			}
		}
		if counter.most > most {
			t.Errorf("%s: at most %d bytes wait for the disk, want %d", name, counter.most, most)
		}
		if err := file.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAReceivedSnapshotGoesToTheDiskPieceByPiece: the engine reopens the file for each received chunk.
func TestAReceivedSnapshotGoesToTheDiskPieceByPiece(t *testing.T) {
	const chunk, chunks = 2 << 20, 8
	counter := &syncCounter{FS: vfs.NewMem()}
	d := disk{Files: Files{FS: counter}}
	open := d.Create
	for range chunks {
		file, err := open("snapshot-1.gbsnap")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write(make([]byte, chunk)); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		open = d.OpenForAppend
	}
	if most := chunk + snapshotPiece; counter.most > most {
		t.Errorf("at most %d bytes wait for the disk, want %d", counter.most, most)
	}
}
