package raftlog

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lni/dragonboat/v4/raftpb"
)

// snapshotOf creates a host with snapshots, closes the host, and returns its newest snapshot's path.
func snapshotOf(t *testing.T, one *member) (path string) {
	t.Helper()
	one.open()
	leaderOf(t, []*member{one})
	one.mustPropose(0, 40)
	one.awaitSnapshot()
	one.close()
	err := filepath.WalkDir(one.config.DataDir, func(p string, _ fs.DirEntry, err error) error {
		if err == nil && isSnapshot(p) {
			path = p
		}
		return err
	})
	if err != nil || path == "" {
		t.Fatalf("no snapshot was found: %v", err)
	}
	return path
}

// TestEveryBitOfASnapshotCounts flips each bit in a snapshot: damage is reported before the engine could stop or
// misinterpret the data.
func TestEveryBitOfASnapshotCounts(t *testing.T) {
	data, err := os.ReadFile(snapshotOf(t, newCluster(t, 1, fewEntries)[0]))
	if err != nil {
		t.Fatal(err)
	}
	size := int64(len(data))
	if at, _, err := damageInSnapshot(bytes.NewReader(data), size); err != nil || at != -1 {
		t.Fatalf("as it is: byte %d, %v", at, err)
	}
	for i := range 8 * len(data) {
		data[i/8] ^= 1 << (i % 8)
		if at, _, err := damageInSnapshot(bytes.NewReader(data), size); err != nil || at < 0 || at > i/8 {
			t.Errorf("byte %d, bit %d of %d bytes: found at %d, %v", i/8, i%8, len(data), at, err)
		}
		data[i/8] ^= 1 << (i % 8)
	}
}

// TestBlocksOfTwoSnapshotsAreNotOne exchanges two blocks with valid checksums.
func TestBlocksOfTwoSnapshotsAreNotOne(t *testing.T) {
	block := func(fill byte) []byte {
		b := bytes.Repeat([]byte{fill}, snapshotBlock)
		return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	}
	snapshot := func(first, second byte) []byte {
		sums := append(block('a')[snapshotBlock:], block('b')[snapshotBlock:]...)
		head := raftpb.SnapshotHeader{Version: 2, PayloadChecksum: sumOf(sums)}
		text, err := head.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		head.HeaderChecksum = sumOf(text)
		if text, err = head.Marshal(); err != nil {
			t.Fatal(err)
		}
		file := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
		file = append(file, text...)
		file = append(file, make([]byte, snapshotHead-len(file))...)
		file = append(append(file, block(first)...), block(second)...)
		file = binary.LittleEndian.AppendUint64(file, uint64(2*len(block('a'))))
		return append(file, snapshotEnd...)
	}
	for _, c := range []struct {
		first, second byte
		want          int
	}{{'a', 'b', -1}, {'b', 'a', snapshotHead}, {'a', 'a', snapshotHead}} {
		data := snapshot(c.first, c.second)
		if at, _, err := damageInSnapshot(bytes.NewReader(data), int64(len(data))); err != nil || at != c.want {
			t.Errorf("blocks %c %c: found at %d, want %d; %v", c.first, c.second, at, c.want, err)
		}
	}
}

func sumOf(b []byte) []byte { return binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(b)) }

// TestASnapshotIsTheOneOfItsMetadata opens a host with an intact snapshot that does not match its name and metadata.
func TestASnapshotIsTheOneOfItsMetadata(t *testing.T) {
	one := newCluster(t, 1, fewEntries)[0]
	path := snapshotOf(t, one)
	dir := filepath.Dir(path)
	metadata, err := os.ReadFile(filepath.Join(dir, snapshotMetadata))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*raftpb.Snapshot)
		want   string
	}{
		"index":    {func(s *raftpb.Snapshot) { s.Index++ }, "its metadata is that of snapshot-"},
		"size":     {func(s *raftpb.Snapshot) { s.FileSize++ }, "bytes"},
		"checksum": {func(s *raftpb.Snapshot) { s.Checksum[0] ^= 1 }, "its metadata has the checksum"},
	} {
		var s raftpb.Snapshot
		if err := s.Unmarshal(metadata[flagSum:]); err != nil {
			t.Fatal(err)
		}
		c.change(&s)
		text, err := s.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		sum := md5.Sum(text)
		text = append(sum[len(sum)-flagSum:], text...) // in the engine's form
		if err := os.WriteFile(filepath.Join(dir, snapshotMetadata), text, 0o640); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(one.config); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	flipped := bytes.Clone(metadata)
	flipped[len(flipped)-15] ^= 1 // in the snapshot's checksum
	file := filepath.Join(dir, snapshotMetadata)
	if err := os.WriteFile(file, flipped, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(one.config); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), file) {
		t.Errorf("metadata that is damaged itself: %v", err)
	}
	if err := os.WriteFile(file, metadata, 0o640); err != nil {
		t.Fatal(err)
	}
	one.open()
	leaderOf(t, []*member{one})
}
