package outage

import (
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"testing"
)

// lost is the image without any unsynced data, kept the image with all of it.
var lost, kept = Extremes[0], Extremes[3]

func (m *Memory) mustWrite(t *testing.T, name, text string, sync bool) {
	t.Helper()
	f, err := m.Create(name)
	if err == nil {
		_, err = f.Write([]byte(text))
	}
	if err == nil && sync {
		err = f.Sync()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (m *Memory) mustSync(t *testing.T, name string) {
	t.Helper()
	d, err := m.OpenDir(name)
	if err == nil {
		err = d.Sync()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (m *Memory) text(t *testing.T, name string) string {
	t.Helper()
	f, err := m.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "-"
	}
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

// TestMemoryKeepsWhatWasSynced: files and names separately; a kill loses nothing.
func TestMemoryKeepsWhatWasSynced(t *testing.T) {
	m := NewMemory("/data")
	m.mustWrite(t, "/data/a", "synced", true)
	m.mustWrite(t, "/data/b", "named", false)
	m.mustSync(t, "/data")
	m.mustWrite(t, "/data/c", "unnamed", true)
	if err := m.Rename("/data/b", "/data/d"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what string
		m    *Memory
		want map[string]string
	}{
		{"now", m, map[string]string{"a": "synced", "b": "-", "c": "unnamed", "d": "named"}},
		{"killed", m.AfterKill(), map[string]string{"a": "synced", "b": "-", "c": "unnamed", "d": "named"}},
		{"killed, then without power", m.AfterKill().AfterPowerFailure(lost),
			map[string]string{"a": "synced", "b": "", "c": "-", "d": "-"}},
		{"without power", m.AfterPowerFailure(lost), map[string]string{"a": "synced", "b": "", "c": "-", "d": "-"}},
		{"without power, and lucky", m.AfterPowerFailure(kept),
			map[string]string{"a": "synced", "b": "-", "c": "unnamed", "d": "named"}},
	} {
		for name, want := range c.want {
			if got := c.m.text(t, "/data/"+name); got != want {
				t.Errorf("%s: %s has %q, not %q", c.what, name, got, want)
			}
		}
	}
}

// TestMemoryTearsWhatWasNotSynced: some draw has part of a write, and synced data is always present.
func TestMemoryTearsWhatWasNotSynced(t *testing.T) {
	m := NewMemory("/data")
	m.mustWrite(t, "/data/a", "0123456789", true)
	m.mustSync(t, "/data")
	f, err := m.OpenData("/data/a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(make([]byte, 8<<10), 10); err != nil {
		t.Fatal(err)
	}
	sizes := make(map[int]bool)
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		text := m.AfterPowerFailure(RandomDraw(random)).text(t, "/data/a")
		if text[:10] != "0123456789" {
			t.Fatalf("it begins with %q", text[:10])
		}
		sizes[len(text)] = true
	}
	if len(sizes) < 4 {
		t.Errorf("the sizes are %v", sizes)
	}
}

// TestASyncOfMemoryCountsOnceItHasReturned: a power failure during a sync loses its data, and data written during a
// sync is not covered by it.
func TestASyncOfMemoryCountsOnceItHasReturned(t *testing.T) {
	m := NewMemory("/data")
	f, err := m.OpenData("/data/a")
	if err != nil {
		t.Fatal(err)
	}
	m.mustSync(t, "/data")
	if _, err := f.Write([]byte("one")); err != nil {
		t.Fatal(err)
	}
	during := ""
	m.Before = func(s Step) error {
		if s.Kind == Sync && during == "" {
			during = "text: " + m.AfterPowerFailure(lost).text(t, "/data/a")
			_, err := f.Write([]byte("two"))
			return err
		}
		return nil
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if after := m.AfterPowerFailure(lost).text(t, "/data/a"); during != "text: " || after != "one" {
		t.Errorf("during the sync %q, afterwards %q", during, after)
	}
}

// TestMemoryRefusesAStep: a refused step leaves nothing behind.
func TestMemoryRefusesAStep(t *testing.T) {
	m, full := NewMemory("/data"), errors.New("full")
	m.mustWrite(t, "/data/a", "before", true)
	m.Before = func(s Step) error { return full }
	f, err := m.OpenData("/data/a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("after")); !errors.Is(err, full) {
		t.Errorf("a write: %v", err)
	}
	if err := errors.Join(m.Remove("/data/a"), m.Rename("/data/a", "/data/b")); !errors.Is(err, full) {
		t.Errorf("names: %v", err)
	}
	if text := m.text(t, "/data/a"); text != "before" {
		t.Errorf("it has %q", text)
	}
}

// TestMemoryForgetsRemovedFiles: nameless files are freed once that is durable. An open file can still be read.
func TestMemoryForgetsRemovedFiles(t *testing.T) {
	m := NewMemory("/data")
	m.mustWrite(t, "/data/a", "removed", true)
	m.mustSync(t, "/data")
	f, err := m.Open("/data/a")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.RemoveAll("/data/a"); err != nil {
		t.Fatal(err)
	}
	if text := m.AfterPowerFailure(lost).text(t, "/data/a"); text != "removed" {
		t.Errorf("the removal is not synced, and it has %q", text)
	}
	m.mustSync(t, "/data")
	if len(m.contents) != 1 { // the directory's content
		t.Errorf("%d contents are kept", len(m.contents))
	}
	if all, err := io.ReadAll(f); err != nil || string(all) != "removed" {
		t.Errorf("it reads %q, %v", all, err)
	}
}
