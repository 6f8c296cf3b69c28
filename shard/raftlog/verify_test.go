package raftlog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// logFileOf returns the store's log file with the most in it, and how much that is.
func logFileOf(t *testing.T, dir string) (path string, number uint32, data []byte) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		name, isLog := strings.CutSuffix(d.Name(), ".log")
		if err != nil || !isLog {
			return err
		}
		found, err := os.ReadFile(p)
		if len(found) > len(data) {
			n, _ := strconv.ParseUint(name, 10, 32)
			path, number, data = p, uint32(n), found
		}
		return err
	})
	if err != nil || data == nil {
		t.Fatal("no log file", err)
	}
	return path, number, data
}

func TestALogFileThatWasDamagedIsNotTakenForATornOne(t *testing.T) {
	one := openOne(t, nil)
	want := one.mustPropose(0, 60)
	one.close()
	path, number, whole := logFileOf(t, one.config.DataDir)
	end := len(whole)
	for end > 0 && whole[end-1] == 0 {
		end--
	}
	if at, damaged := damagedAt(whole, number); damaged {
		t.Fatalf("a file that is whole is called damaged at byte %d", at)
	}
	for at := range end { // torn anywhere, in a file that was prepared or not
		if _, damaged := damagedAt(whole[:at], number); damaged {
			t.Fatalf("a file that ends at byte %d is called damaged", at)
		}
	}
	for at := 0; at < end/2; at += 7 {
		bad := append([]byte(nil), whole...)
		bad[at] ^= 1
		if found, damaged := damagedAt(bad, number); !damaged || found > at {
			t.Fatalf("byte %d was changed, and found is %d, %v", at, found, damaged)
		}
	}

	bad := append([]byte(nil), whole...)
	bad[end/2] ^= 0x40
	if err := os.WriteFile(path, bad, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(one.config); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) {
		t.Fatalf("a damaged log file: %v", err)
	}
	if err := os.WriteFile(path, whole, 0o640); err != nil {
		t.Fatal(err)
	}
	one.open()
	one.machine.awaitBatches(t, want)
}

func TestWhatTheEngineKeepsIsNamedWhenItIsDamaged(t *testing.T) {
	one := openOne(t, nil)
	one.mustPropose(0, 5)
	one.close()
	for _, kind := range []string{"CURRENT", "MANIFEST-", "dragonboat.ds", "NODEHOST.ID", "host.json"} {
		for name, change := range map[string]func([]byte) []byte{
			"cut":     func(b []byte) []byte { return b[:len(b)/2] },
			"changed": func(b []byte) []byte { b[len(b)/2] ^= 0x10; return b },
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
