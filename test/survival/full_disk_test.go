//go:build linux

package survival_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest/process"
)

// smallDisk is a separate file system, with a ballast file.
type smallDisk struct {
	t       *testing.T
	dir     string
	ballast string
}

// newSmallDisk mounts an in-memory file system. It skips the test without the right to mount.
func newSmallDisk(t *testing.T, size string) *smallDisk {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return &smallDisk{t: t, dir: dir, ballast: filepath.Join(dir, "ballast")}
}

// fill fills the disk except the given rest. It may be called from any goroutine.
func (s *smallDisk) fill(left uint64) error {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(s.dir, &fs); err != nil {
		return err
	}
	free := fs.Bavail * uint64(fs.Bsize)
	if free <= left {
		return fmt.Errorf("%d bytes are free, %d are to be left", free, left)
	}
	file, err := os.OpenFile(s.ballast, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	chunk := make([]byte, 64<<10)
	for rest := free - left; rest > 0; {
		n, err := file.Write(chunk[:min(rest, uint64(len(chunk)))])
		if left == 0 && errors.Is(err, syscall.ENOSPC) {
			return nil // the host was faster
		}
		if err != nil {
			return err
		}
		rest -= uint64(n)
	}
	return nil
}

func (s *smallDisk) clear() {
	s.t.Helper()
	if err := os.Remove(s.ballast); err != nil {
		s.t.Fatal(err)
	}
}

// tryUpdate asks for an update once.
func (c *client) tryUpdate(name, data string) protocol.Status {
	return c.try(&protocol.SemaphoreUpdate{NodeID: c.node, Name: []byte(name), Data: []byte(data)})
}

// tryCreate asks for a semaphore once.
func (c *client) tryCreate(name, data string) protocol.Status {
	return c.try(&protocol.SemaphoreCreate{NodeID: c.node, Name: []byte(name), Limit: 1, Data: []byte(data)})
}

func (c *client) try(m protocol.RequestMessage) protocol.Status {
	a, _, err := c.once("semaphore", false, func() protocol.RequestMessage { return m })
	if err != nil {
		return protocol.StatusUnavailable
	}
	return a.Result.Status
}

func TestAHostWhoseDiskFillsUpLosesNothingAndRecovers(t *testing.T) {
	t.Parallel()
	disk := newSmallDisk(t, "96m")
	found, err := process.Places(program, disk.dir, []string{"a"}, "--shards", "2")
	if err != nil {
		t.Fatal(err)
	}
	at := &place{found[0]}
	hosts := serveAll(t, []*place{at})
	newNode(t, hosts, "/full", protocol.NodeConfig{})
	quiet := newRecord(t)
	c, err := start(addresses(hosts), "/full", time.Minute, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { c.disconnect() }()
	if err := c.create("value", "0"); err != nil {
		t.Fatal(err)
	}
	order, err := c.acquire("lock")
	if err != nil {
		t.Fatal(err)
	}

	if err := disk.fill(16 << 20); err != nil { // below a quarter, above the minimum for operation
		t.Fatal(err)
	}
	acknowledged := 0
	for until := time.Now().Add(patience); ; {
		status := c.tryUpdate("value", strconv.Itoa(acknowledged+1))
		if status == protocol.StatusStorageFull {
			break
		}
		if status == protocol.StatusSuccess {
			acknowledged++
		}
		if time.Now().After(until) {
			t.Fatalf("changes are taken on a full disk: %v", status)
		}
	}
	if data, err := c.read("value"); err != nil || data != strconv.Itoa(acknowledged) {
		t.Fatalf("read %q, %v; %d updates were acknowledged", data, err, acknowledged)
	}
	if err := c.release("lock", order); err != nil {
		t.Fatalf("what is held cannot be given back: %v", err)
	}
	disk.clear()
	if err := c.update("value", strconv.Itoa(acknowledged+1)); err != nil { // retries until accepted
		t.Fatalf("there is room again: %v", err)
	}
	acknowledged++

	// To the last byte, during changes: the host refuses changes, or stops if it cannot write its log.
	filled := make(chan error, 1)
	go func() { filled <- disk.fill(0) }()
	refused := time.Time{}
	for until := time.Now().Add(patience); refused.IsZero() || time.Since(refused) < 2*time.Second; {
		select {
		case <-hosts[0].Gone():
			refused = until.Add(-patience)
		default:
			switch c.tryUpdate("value", fmt.Sprint(acknowledged+1)) {
			case protocol.StatusSuccess:
				acknowledged++
				refused = time.Time{}
			case protocol.StatusStorageFull:
				if refused.IsZero() {
					refused = time.Now()
				}
			default:
				// Unknown outcome; the next update has the same value.
			}
		}
		if time.Now().After(until) {
			t.Fatal("changes are taken on a disk without a byte of room")
		}
	}
	c.disconnect()
	hosts[0].Kill()
	if err := <-filled; err != nil {
		t.Fatal(err)
	}
	disk.clear()
	again := at.serve(t)
	again.awaitReady()
	if c, err = start(addresses([]*host{again}), "/full", time.Minute, quiet); err != nil {
		t.Fatal(err)
	}
	data, err := c.read("value")
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := strconv.Atoi(data); n != acknowledged && n != acknowledged+1 {
		t.Fatalf("read %q after the restart; %d updates were acknowledged", data, acknowledged)
	}
	if err := c.update("value", "new"); err != nil {
		t.Fatal(err)
	}
}

// TestAHostThatHasFilledItsDiskIsEmptiedByDeletes: the disk is full with the host's own log and state. The change log
// is compacted automatically; a state too large for the disk is not lost, and can be reduced, even after a restart.
func TestAHostThatHasFilledItsDiskIsEmptiedByDeletes(t *testing.T) {
	t.Parallel()
	const bytes = 60_000
	disk := newSmallDisk(t, "128m")
	found, err := process.Places(program, disk.dir, []string{"a"}, "--shards", "1")
	if err != nil {
		t.Fatal(err)
	}
	at := &place{found[0]}
	hosts := serveAll(t, []*place{at})
	newNode(t, hosts, "/full", protocol.NodeConfig{})
	c, err := start(addresses(hosts), "/full", 10*time.Minute, newRecord(t)) // no session begins on a full disk
	if err != nil {
		t.Fatal(err)
	}
	defer func() { c.disconnect() }()

	data := strings.Repeat("d", bytes)
	for n := range 16 {
		if err := c.create(fmt.Sprint("changed-", n), data); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 2500 { // 150 MB of changes; temporary refusals are retried
		if err := c.update(fmt.Sprint("changed-", n%16), data); err != nil {
			t.Fatalf("change %d: %v", n, err)
		}
	}

	created := 0
	var refused time.Time
	for refused.IsZero() || time.Since(refused) < 6*time.Second {
		switch status := c.tryCreate(fmt.Sprint("kept-", created), data); status {
		case protocol.StatusSuccess, protocol.StatusAlreadyExists: // after a previous attempt with unknown outcome
			created++
			refused = time.Time{}
		case protocol.StatusUnavailable:
		case protocol.StatusStorageFull:
			if refused.IsZero() {
				refused = time.Now()
			}
			time.Sleep(100 * time.Millisecond)
		default:
			t.Fatalf("create %d: %v", created, status)
		}
	}
	if created < 300 {
		t.Errorf("%d objects of %d bytes fit on a disk of 128 MiB", created, bytes)
	}
	hosts[0].Kill()
	at.serve(t).awaitReady()
	for n, until := 0, time.Now().Add(patience); ; n++ { // the host finds out within a moment
		status := c.tryCreate(fmt.Sprint("again-", n), data)
		if status == protocol.StatusStorageFull {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("after a restart on the full disk: %v", status)
		}
	}
	for n := range created / 3 {
		if err := c.delete(fmt.Sprint("kept-", n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.create("another", data); err != nil { // retries until accepted
		t.Fatalf("a third was deleted: %v", err)
	}
	if got, err := c.read(fmt.Sprint("kept-", created-1)); err != nil || got != data {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
}

// TestAStartWithoutRoomIsTriedAgain: without disk space, a start ends with exit code 75, which makes a supervisor
// restart the host, or the host runs and refuses changes. With disk space, everything is as before.
func TestAStartWithoutRoomIsTriedAgain(t *testing.T) {
	t.Parallel()
	const again = 75
	disk := newSmallDisk(t, "96m")
	found, err := process.Places(program, disk.dir, []string{"a"}, "--shards", "1")
	if err != nil {
		t.Fatal(err)
	}
	at := &place{found[0]}
	refused := 0
	try := func(what string) {
		t.Helper()
		if err := disk.fill(0); err != nil {
			t.Fatal(err)
		}
		h := at.serve(t)
		h.await("host that is ready, or ends, "+what, func() bool {
			select {
			case <-h.Gone():
				return true
			default:
				code, _ := h.Get("/health/ready")
				return code == 200
			}
		})
		select {
		case <-h.Gone():
			if refused++; h.ExitCode() != again {
				t.Errorf("%s it ends with %d, want %d:\n%s", what, h.ExitCode(), again, h.Errors())
			}
		default:
			h.Kill()
		}
		disk.clear()
	}
	try("in an empty directory")
	hosts := serveAll(t, []*place{at})
	newNode(t, hosts, "/full", protocol.NodeConfig{})
	c, err := start(addresses(hosts), "/full", time.Minute, newRecord(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.create("value", "kept"); err != nil {
		t.Fatal(err)
	}
	c.disconnect()
	hosts[0].Kill()
	try("with room in reserve")
	for _, held := range []string{"reserve", "identity.json.new"} {
		if err := os.Remove(filepath.Join(at.Dir, held)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		try("without " + held)
	}
	if refused == 0 {
		t.Error("no start was refused")
	}
	hosts = serveAll(t, []*place{at})
	if c, err = start(addresses(hosts), "/full", time.Minute, newRecord(t)); err != nil {
		t.Fatal(err)
	}
	defer c.disconnect()
	if data, err := c.read("value"); err != nil || data != "kept" {
		t.Errorf("read %q, %v", data, err)
	}
}
