//go:build unix

package datadir

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lni/dragonboat/v4/raftpb"
)

// container returns a snapshot in the log engine's format, with the given content.
func container(t *testing.T, header raftpb.SnapshotHeader, content []byte) []byte {
	t.Helper()
	head, err := header.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	file := make([]byte, headerBytes)
	binary.LittleEndian.PutUint64(file, uint64(len(head)))
	copy(file[8:], head)
	content = append(make([]byte, engineClients), content...)
	for len(content) > 0 {
		n := min(len(content), blockBytes)
		file = append(file, content[:n]...)
		file = binary.BigEndian.AppendUint32(file, crc32.ChecksumIEEE(content[:n]))
		content = content[n:]
	}
	return append(file, make([]byte, tailBytes)...)
}

func read(t *testing.T, file []byte) ([]byte, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := openSnapshot(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

var sound = raftpb.SnapshotHeader{Version: blockFormat, ChecksumType: raftpb.CRC32IEEE}

func TestWhatAMachineSavedComesOutOfTheFile(t *testing.T) {
	random := rand.NewChaCha8([32]byte{1})
	for _, size := range []int{1, 100, blockBytes - engineClients, blockBytes, 2*blockBytes + 77} {
		content := make([]byte, size)
		_, _ = random.Read(content)
		got, err := read(t, container(t, sound, content))
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes: %d come out, %v", size, len(got), err)
		}
	}
}

func TestADamagedFileIsSeen(t *testing.T) {
	file := container(t, sound, make([]byte, blockBytes+100))
	for _, at := range []int{headerBytes, headerBytes + 1000, headerBytes + blockBytes, headerBytes + blockBytes +
		checksumBytes + 50} {
		bad := bytes.Clone(file)
		bad[at] ^= 1
		if _, err := read(t, bad); !errors.Is(err, ErrDamaged) {
			t.Errorf("a byte changed at %d: %v", at, err)
		}
	}
	for _, size := range []int{0, 8, headerBytes, headerBytes + tailBytes, headerBytes + 5000} {
		if _, err := read(t, file[:size]); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut after %d bytes: %v", size, err)
		}
	}
	long := bytes.Clone(file)
	binary.LittleEndian.PutUint64(long, 1<<40)
	if _, err := read(t, long); !errors.Is(err, ErrDamaged) {
		t.Errorf("a long header: %v", err)
	}
}

func TestAFormatThatIsNotKnownIsRefused(t *testing.T) {
	newer, packed := sound, sound
	newer.Version, packed.CompressionType = blockFormat+1, raftpb.Snappy
	for _, header := range []raftpb.SnapshotHeader{newer, packed} {
		if _, err := read(t, container(t, header, []byte("x"))); err == nil || errors.Is(err, ErrDamaged) {
			t.Errorf("%+v: %v", header, err)
		}
	}
}

func TestSnapshotsAreFoundByTheirNames(t *testing.T) {
	const folder, file = "raft/vm/1/snapshot-part-1/", "/snapshot-00000000000000AF.gbsnap"
	for path, want := range map[string]*Snapshot{
		folder + "snapshot-1-3/snapshot-00000000000000AF" + file:              {Shard: 1, Index: 0xAF},
		folder + "snapshot-12-3/snapshot-00000000000000AF" + file:             {Shard: 12, Index: 0xAF},
		folder + "snapshot-1-3/snapshot-00000000000000AF-1.generating" + file: nil,
		folder + "snapshot-1-3/snapshot-00000000000000AF/snapshot.message":    nil,
		"raft/vm/1/log/000000000002.wal":                                      nil,
	} {
		got, ok := snapshotOf(File{Path: path}, time.Time{})
		if ok != (want != nil) || ok && (got.Shard != want.Shard || got.Index != want.Index) {
			t.Errorf("%s: %+v, %v", path, got, ok)
		}
	}
}
