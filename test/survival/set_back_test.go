//go:build linux

package survival_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/server/servertest/process"
)

// copyDirectory copies a host's directory, even while the host runs.
func copyDirectory(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// cloneDisk copies a directory like a disk clone or rollback: nothing marks it as a copy.
func cloneDisk(t *testing.T, from, to string) {
	t.Helper()
	copyDirectory(t, from, to)
	if err := os.Remove(filepath.Join(to, identity.AnchorName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

// recordOf is the latest content of a record in a host's directory.
func (p *place) recordOf(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.Dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return text
}

// awaitNoted waits until a running host has recorded everything confirmed before the call. The first replacement of the
// record may have begun before the call, so awaitNoted confirms more, and waits for another replacement.
func (h *host) awaitNoted(p *place, name string, c *counter) {
	h.t.Helper()
	for range 2 {
		before := p.recordOf(h.t, name)
		c.acquire()
		h.await("it replaces "+name, func() bool { return !bytes.Equal(p.recordOf(h.t, name), before) })
	}
}

// TestADirectoryIsNotSetBackByACopy: b is copied while it runs. Changes confirmed by a and b while c is down are
// missing in the copy, which then replaces b's files. Then a, the only host able to detect this, is gone.
func TestADirectoryIsNotSetBackByACopy(t *testing.T) {
	t.Parallel()
	places, hosts := three(t)
	c := newCounter(t, places)
	b := places[1]
	c.write("one")
	kept := filepath.Join(t.TempDir(), "copy")
	copyDirectory(t, b.Dir, kept)
	hosts[2].Kill()
	c.write("two")
	hosts[1].awaitNoted(b, identity.AnchorName, c)
	hosts[0].awaitNoted(places[0], identity.PeersName, c)
	hosts[1].Kill()
	hosts[0].Kill()
	copyDirectory(t, kept+"/.", b.Dir)
	hosts[2] = places[2].serve(t)
	b.serve(t).awaitRefused("the data directory is a copy", "--name b --replace b", "signalbox host adopt-data-dir "+
		""+b.Dir)
	if code, text := hosts[2].Get("/health/ready"); code == 200 {
		t.Errorf("c alone is ready: %s", text)
	}
	hosts[0] = places[0].serve(t)
	hosts[0].awaitReady()
	hosts[2].awaitReady()
	c.has("one")
	c.has("two")
	c.acquire()
	// It was copied while its host ran. Even if declared complete, it does not match a's knowledge.
	if out, err := moved(b.Dir); err == nil || !strings.Contains(out, "--unclean-shutdown") {
		t.Errorf("a copy of a host that ran is taken: %v\n%s", err, out)
	}
	if out, err := moved("--unclean-shutdown", b.Dir); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	b.serve(t).awaitRefused("the data directory of host b is an older copy", "--name b --replace b")
}

// moved declares a copy to be the directory from now on, and returns the tool's output.
func moved(args ...string) (out string, err error) {
	text, err := exec.Command(program.Path, append([]string{"host", "adopt-data-dir"}, args...)...).CombinedOutput()
	return string(text), err
}

// TestADiskThatIsSetBackIsRefusedByWhoKnowsBetter: nothing on the disk shows the rollback, and its start number is
// higher than any seen by other hosts. The host with the confirmed changes has been killed since.
func TestADiskThatIsSetBackIsRefusedByWhoKnowsBetter(t *testing.T) {
	places, hosts := three(t)
	c := newCounter(t, places)
	b := places[1]
	kept := filepath.Join(t.TempDir(), "copy")
	cloneDisk(t, b.Dir, kept)
	hosts[2].Kill()
	c.write("one")
	hosts[0].awaitNoted(places[0], identity.PeersName, c)
	putBack := func() {
		if err := os.RemoveAll(b.Dir); err != nil {
			t.Fatal(err)
		}
		copyDirectory(t, kept, b.Dir)
	}
	hosts[1].Kill()
	putBack()
	b.serve(t).awaitRefused("the data directory of host b is an older copy", "it has the log up to",
		"--name b --replace b")
	hosts[0].Kill()
	putBack()
	older := b.serve(t)
	older.await("its page answers", func() bool { code, _ := older.Get("/health/live"); return code == 200 })
	hosts[0] = places[0].serve(t)
	older.awaitRefused("the data directory of host b is an older copy")
	hosts[2] = places[2].serve(t)
	hosts[0].awaitReady()
	hosts[2].awaitReady()
	c.has("one")
	c.acquire()
}

// TestOfACopyBesideTheOriginalTheCopyIsRefused: the copy has a later start number than the running host.
func TestOfACopyBesideTheOriginalTheCopyIsRefused(t *testing.T) {
	places, hosts := three(t)
	c := newCounter(t, places)
	other, err := process.NewPlace(program, filepath.Join(t.TempDir(), "copy"))
	if err != nil {
		t.Fatal(err)
	}
	other.Name = "b"
	other.Args = []string{"--name", "b", "--raft-listen", other.Raft, "--raft-advertise", other.Raft}
	cloneDisk(t, places[1].Dir, other.Dir)
	(&place{other}).serve(t).awaitRefused("host b already runs at "+places[1].Raft, "stop this process")
	for _, h := range hosts {
		h.awaitReady()
	}
	c.write("one")
	// The host itself may be restarted, even elsewhere, once its process is gone.
	hosts[1].Kill()
	if err := os.RemoveAll(other.Dir); err != nil {
		t.Fatal(err)
	}
	cloneDisk(t, places[1].Dir, other.Dir)
	(&place{other}).serve(t).awaitReady()
	c.write("two")
}

// TestALogWhoseEndIsGoneIsRefused: the host was stopped cleanly, and the last 4 KiB of its log are now zeros.
func TestALogWhoseEndIsGoneIsRefused(t *testing.T) {
	p := newPlaces(t, "a")[0]
	h := p.serve(t)
	h.awaitReady()
	h.stop()
	files, err := filepath.Glob(filepath.Join(p.Dir, identity.LogName, "*", "*", "log", "*.wal"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	path := files[len(files)-1]
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	end := len(bytes.TrimRight(text, "\x00"))
	clear(text[max(0, end-4096):end])
	if err := os.WriteFile(path, text, 0o640); err != nil {
		t.Fatal(err)
	}
	p.serve(t).awaitRefused(path+", from byte ", "what it holds cannot be trusted")
}
