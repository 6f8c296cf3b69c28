package raftlog

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestEveryBitOfASnapshotCounts flips each bit of a snapshot: what the engine would stop at, or take for something
// else, is named before it sees it.
func TestEveryBitOfASnapshotCounts(t *testing.T) {
	one := newCluster(t, 1, fewEntries)[0]
	one.open()
	leaderOf(t, []*member{one})
	one.mustPropose(0, 40)
	one.close()
	var data []byte
	err := filepath.WalkDir(one.config.DataDir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && isSnapshot(path) {
			data, err = os.ReadFile(path)
		}
		return err
	})
	if err != nil || data == nil {
		t.Fatalf("no snapshot was found: %v", err)
	}
	size := int64(len(data))
	if at, err := damageInSnapshot(bytes.NewReader(data), size); err != nil || at != -1 {
		t.Fatalf("as it is: byte %d, %v", at, err)
	}
	for i := range 8 * len(data) {
		data[i/8] ^= 1 << (i % 8)
		if at, err := damageInSnapshot(bytes.NewReader(data), size); err != nil || at < 0 || at > i/8 {
			t.Errorf("byte %d, bit %d of %d bytes: found at %d, %v", i/8, i%8, len(data), at, err)
		}
		data[i/8] ^= 1 << (i % 8)
	}
}
