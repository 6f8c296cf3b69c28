package raftlog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatTheEngineKeepsIsNamedWhenItIsDamaged(t *testing.T) {
	one := openOne(t, nil)
	one.mustPropose(0, 5)
	one.close()
	for _, kind := range []string{"dragonboat.ds", "NODEHOST.ID", "host.json"} {
		for name, change := range map[string]func([]byte) []byte{
			"emptied": func([]byte) []byte { return nil },
			"cut":     func(b []byte) []byte { return b[:len(b)/2] },
			"zeroed":  func(b []byte) []byte { return make([]byte, len(b)) },
			"changed": func(b []byte) []byte { b[min(len(b)/2, 20)] ^= 0x10; return b },
		} {
			t.Run(kind+" "+name, func(t *testing.T) {
				copied := one.config
				copied.DataDir = filepath.Join(t.TempDir(), "copy")
				if err := os.CopyFS(copied.DataDir, os.DirFS(one.config.DataDir)); err != nil {
					t.Fatal(err)
				}
				found := 0
				err := filepath.WalkDir(copied.DataDir, func(p string, d fs.DirEntry, err error) error {
					if err != nil || !strings.HasPrefix(d.Name(), kind) {
						return err
					}
					found++
					b, err := os.ReadFile(p)
					if err != nil {
						return err
					}
					return os.WriteFile(p, change(b), 0o640)
				})
				if err != nil || found == 0 {
					t.Fatal(found, err)
				}
				host, err := Open(copied)
				if err == nil {
					_ = host.Close()
					t.Fatal("it was opened")
				}
				if !strings.Contains(err.Error(), copied.DataDir) {
					t.Fatalf("the directory is not named: %v", err)
				}
				if kind != "host.json" && !errors.Is(err, ErrDamaged) {
					t.Fatalf("not called damaged: %v", err)
				}
			})
		}
	}
}
