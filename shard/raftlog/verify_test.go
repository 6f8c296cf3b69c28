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
	onlyEngineStore(t)
	one := openOne(t, nil)
	want := one.mustPropose(0, 60)
	one.close()
	path, number, whole := logFileOf(t, one.config.DataDir)
	end := len(whole)
	for end > 0 && whole[end-1] == 0 {
		end--
	}
	layout := logLayout(number)
	damaged := func(b []byte) bool {
		at := layout.end(b)
		return synced(b, at, number) > int64(at)
	}
	if at := layout.end(whole); synced(whole, at, number) != int64(at) || at == 0 {
		t.Fatalf("of a file that was closed %d bytes are called synced, and %d are whole", synced(whole, at, number),
			at)
	}
	for at := 0; at < end; at += 31 { // torn anywhere, in a file that was prepared or not
		if damaged(whole[:at]) {
			t.Fatalf("a file that ends at byte %d is called damaged", at)
		}
	}
	bad := append([]byte(nil), whole[:wholeSectors(end+sector-1)]...)
	for at := 0; at < layout.end(whole); at += 7 {
		if bad[at] ^= 1; !damaged(bad) {
			t.Fatalf("byte %d was changed, and nothing is found", at)
		}
		bad[at] ^= 1
	}

	bad[layout.end(whole)-walHead-1] ^= 0x40 // in the last record
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
	onlyEngineStore(t)
	one := openOne(t, nil)
	one.mustPropose(0, 5)
	one.close()
	for _, kind := range []string{"CURRENT", "MANIFEST-", "dragonboat.ds", "NODEHOST.ID", "host.json"} {
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
