package raftlog

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAFileThatIsTakenForWholeHasItsNameOnlyOnceItIsSynced(t *testing.T) {
	d, name := systemDisk(), filepath.Join(t.TempDir(), "dragonboat.ds")
	for _, synced := range []bool{false, true} {
		file, err := d.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write([]byte("content")); err != nil {
			t.Fatal(err)
		}
		if synced {
			if err := file.Sync(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := os.Stat(name); err == nil {
			t.Error("it has its name before it is closed")
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(name); (err == nil) != synced {
			t.Errorf("synced %v: %v", synced, err)
		}
	}
}
