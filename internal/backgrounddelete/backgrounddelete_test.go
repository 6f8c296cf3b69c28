package backgrounddelete

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"
)

// large creates a file large enough to be freed in pieces.
func large(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, bytes.Repeat([]byte("x"), 2*pieceBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func wantGone(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there: %v", path, err)
	}
}

func TestAFileIsFreedInPieces(t *testing.T) {
	var sizes []int64
	var waited time.Duration
	shrink(3*pieceBytes+1, func(size int64) error {
		sizes = append(sizes, size)
		return nil
	}, func(d time.Duration) { waited += d })
	if !slices.Equal(sizes, []int64{2*pieceBytes + 1, pieceBytes + 1, 1}) || waited != 3*pause {
		t.Errorf("it has %d bytes, after %v", sizes, waited)
	}
	shrink(pieceBytes, func(int64) error { t.Error("a small file is cut"); return nil }, nil)
	shrink(9*pieceBytes, func(int64) error { return fs.ErrPermission }, func(time.Duration) {
		t.Error("it goes on though it may not")
	})
}

// TestAFileThatIsOpenNowhereElseIsFreed: else nothing would ever be freed in pieces.
func TestAFileThatIsOpenNowhereElseIsFreed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("who else has a file is known on Linux only")
	}
	path := large(t, t.TempDir(), "file")
	file := open(path)
	defer file.Close()
	if ownedAlone(file.File) {
		t.Error("a file with a name is owned alone")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if !ownedAlone(file.File) {
		t.Error("a file without a name, open nowhere else, is not owned alone")
	}
}

// TestWhoHasAFileKeepsIt: through a second name, or an open descriptor.
func TestWhoHasAFileKeepsIt(t *testing.T) {
	for name, remove := range map[string]func(path string) error{
		"Remove": Remove,
		"Rename": func(path string) error { return Rename(large(t, filepath.Dir(path), "new"), path) },
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			dir := filepath.Join(top, "dir")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			linked, read := large(t, dir, "linked"), large(t, dir, "read")
			other := filepath.Join(top, "other")
			if err := os.Link(linked, other); err != nil {
				t.Fatal(err)
			}
			reader, err := os.Open(read)
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Close()
			if err := errors.Join(remove(linked), remove(read)); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(other); err != nil || info.Size() != 2*pieceBytes+1 {
				t.Errorf("the other name has %v, %v", info, err)
			}
			if all, err := io.ReadAll(reader); err != nil || len(all) != 2*pieceBytes+1 {
				t.Errorf("the reader gets %d bytes, %v", len(all), err)
			}
		})
	}
}

func TestWhatIsRemovedIsGone(t *testing.T) {
	dir := t.TempDir()
	for _, remove := range []func(string) error{Remove, FS{}.Remove} {
		file := large(t, dir, "file")
		if err := remove(file); err != nil {
			t.Error(err)
		}
		wantGone(t, file)
		if err := remove(file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("what is not there: %v", err)
		}
	}
	within := filepath.Join(dir, "within", "deep")
	if err := os.MkdirAll(within, 0o700); err != nil {
		t.Fatal(err)
	}
	large(t, within, "file")
	for range 2 { // the second call finds nothing
		if err := (FS{}).RemoveAll(filepath.Dir(within)); err != nil {
			t.Error(err)
		}
		wantGone(t, filepath.Dir(within))
	}
	old, young := large(t, dir, "old"), filepath.Join(dir, "young")
	if err := errors.Join(os.WriteFile(young, []byte("new"), 0o600), Rename(young, old)); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(old); string(text) != "new" || err != nil {
		t.Errorf("the new file has %q, %v", text, err)
	}
	wantGone(t, young)
}
