package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestFilesOfAHostAreNotForAll(t *testing.T) {
	p := newPlace(t)
	before := syscall.Umask(0)
	s := p.serve(t)
	syscall.Umask(before)
	s.awaitReady()
	s.stop()
	count := 0
	err := filepath.WalkDir(p.Dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		count++
		if mode := info.Mode().Perm(); mode&0o027 != 0 {
			t.Errorf("%s has the mode %v", path, mode)
		}
		return nil
	})
	if err != nil || count < 5 {
		t.Errorf("%d files, %v", count, err)
	}
}

func TestSecretsThatAllCanReadAreWarnedOf(t *testing.T) {
	dir := t.TempDir()
	open, private := filepath.Join(dir, "open.yaml"), filepath.Join(dir, "private")
	for path, mode := range map[string]os.FileMode{open: 0o644, private: 0o640} {
		const text = "principals: [] # no tokens, and a secret that is long enough\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	s := newPlace(t, "--token-file", open, "--raft-secret-file", private).serve(t)
	s.awaitReady()
	s.stop()
	const warning = "every user on the machine can read"
	if text := s.Errors(); strings.Count(text, warning) != 1 ||
		!strings.Contains(text, "setting=token-file file="+open+" mode=-rw-r--r--") {
		t.Errorf("it says %s", text)
	}
}
