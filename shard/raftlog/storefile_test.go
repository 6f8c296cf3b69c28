package raftlog

import (
	"os"
	"testing"
)

func TestAFileThatIsTakenForWholeHasItsNameOnlyOnceItIsSynced(t *testing.T) {
	f, path := filesIn(t)
	name := path("dragonboat.ds")
	for _, synced := range []bool{false, true} {
		file, err := f.Create(name)
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
		if size := sizeOf(t, name); size != -1 {
			t.Errorf("before it is closed it has its name, with %d bytes", size)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(name); (err == nil) != synced {
			t.Errorf("synced %v: %v", synced, err)
		}
	}
}

func TestASealedFileIsReadWithoutItsSeal(t *testing.T) {
	f, path := filesIn(t)
	const text = "MANIFEST-000001\n"
	if err := os.WriteFile(path("new"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Rename(path("new"), path("CURRENT")); err != nil {
		t.Fatal(err)
	}
	file, err := f.Open(path("CURRENT"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	content := make([]byte, len(text))
	info, err := file.Stat()
	if err != nil || info.Size() != int64(len(text)) {
		t.Fatal(info, err)
	}
	if _, err := file.ReadAt(content, 0); err != nil || string(content) != text {
		t.Errorf("%q, %v", content, err)
	}
}
