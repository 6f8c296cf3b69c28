package identity

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// fullDirectory returns a directory on a separate file system, and a function to fill it.
func fullDirectory(t *testing.T) (dir string, fill func()) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir, func() {
		t.Helper()
		file, err := os.OpenFile(filepath.Join(dir, "ballast"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		for err == nil {
			_, err = file.Write(make([]byte, 4096))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		file.Close()
	}
}

// TestRecordsAreReplacedOnAFullDisk: repeatedly, each using its predecessor's space.
func TestRecordsAreReplacedOnAFullDisk(t *testing.T) {
	dir, fill := fullDirectory(t)
	if err := writeWhole(dir, FileName, []byte("first"), 0o640); err != nil {
		t.Fatal(err)
	}
	fill()
	for n := range 20 {
		text := fmt.Appendf(nil, "record %d", n)
		if err := writeWhole(dir, FileName, text, 0o640); err != nil {
			t.Fatalf("record %d: %v", n, err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, FileName)); err != nil || !bytes.Equal(got, text) {
			t.Fatalf("record %d is %q, %v", n, got, err)
		}
	}
	if err := writeWhole(dir, PeersName, []byte("another"), 0o640); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("there is room for another file on a full disk: %v", err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, PeersName)); err == nil {
		t.Errorf("a file that found no room has %q", got)
	}
}

// TestAStartIsWrittenDownOnAFullDisk: a used directory needs no space for the next start.
func TestAStartIsWrittenDownOnAFullDisk(t *testing.T) {
	dir, fill := fullDirectory(t)
	want := Expected{HostName: "a", Version: "1"}
	d, err := Claim(dir)
	if err == nil {
		err = d.Make(want)
	}
	if err != nil {
		t.Fatal(err)
	}
	fill()
	for n := uint64(1); n < 5; n++ {
		start, err := d.Begin()
		if err != nil || start.Number != n {
			t.Fatalf("start %d: %v, %v", n, start, err)
		}
	}
	d.Release()
	if found, err := Read(dir); err != nil || found.Starts != 4 {
		t.Errorf("%d starts are written down, %v", found.Starts, err)
	}
}
