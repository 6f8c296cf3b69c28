//go:build linux

package survival_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest/process"
)

// hostsOnSmallDisks starts three hosts with separate disks and frequent snapshots, so that a host a few MiB behind
// needs a snapshot. It also returns a client.
func hostsOnSmallDisks(t *testing.T) ([]*smallDisk, []*host, *client) {
	t.Helper()
	found, err := process.Places(program, t.TempDir(), []string{"a", "b", "c"},
		"--shards", "2", "--raft-snapshot-bytes", "2MiB")
	if err != nil {
		t.Fatal(err)
	}
	var disks []*smallDisk
	var places []*place
	for _, p := range found {
		disk := newSmallDisk(t, "96m")
		p.Dir = filepath.Join(disk.dir, p.Name)
		disks, places = append(disks, disk), append(places, &place{p})
	}
	hosts := serveAll(t, places)
	newNode(t, hosts, "/full", protocol.NodeConfig{})
	c, err := start(addresses(hosts), "/full", 10*time.Minute, newRecord(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.disconnect)
	return disks, hosts, c
}

// nearlyFull leaves too little disk space for changes, but enough for operation.
const nearlyFull = 16 << 20

// fillDisk fills a host's disk until the host says so.
func fillDisk(t *testing.T, disk *smallDisk, h *host) {
	t.Helper()
	if err := disk.fill(nearlyFull); err != nil {
		t.Fatal(err)
	}
	h.await("host that says that its disk is full", func() bool { return h.status().Disk.Refusing })
}

// applied is how far the host is in all shards together.
func (h *host) applied() (sum uint64) {
	h.t.Helper()
	for _, s := range h.status().Shards {
		sum += s.Applied
	}
	return sum
}

// metric returns the value of a series without labels, as text.
func (h *host) metric(name string) string {
	h.t.Helper()
	_, text := h.Get("/metrics")
	_, rest, _ := strings.Cut(text, "\n"+name+" ")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// TestAHostWhoseDiskIsFullStopsLeadingAndIsLeftBehindUntilThereIsRoom: the other hosts continue.
func TestAHostWhoseDiskIsFullStopsLeadingAndIsLeftBehindUntilThereIsRoom(t *testing.T) {
	t.Parallel()
	disks, hosts, c := hostsOnSmallDisks(t)
	data := strings.Repeat("d", 60_000)
	for n := range 8 {
		if err := c.create(fmt.Sprint("value-", n), data); err != nil {
			t.Fatal(err)
		}
	}
	full, _ := byLed(t, hosts)
	others := slices.Delete(slices.Clone(hosts), full, full+1)
	fillDisk(t, disks[full], hosts[full])
	hosts[full].await("host with a full disk that leads nothing", func() bool { return hosts[full].led() == 0 })
	behind := hosts[full].applied()
	for n := range 200 { // 12 MB
		if err := c.update(fmt.Sprint("value-", n%8), data+fmt.Sprint(n)); err != nil {
			t.Fatal(err)
		}
	}
	if now := hosts[full].applied(); now > behind+20 {
		t.Errorf("a host with a full disk has taken %d entries", now-behind)
	}
	for _, h := range others {
		h.await("leader that knows of the disk", func() bool {
			return h.led() == 0 || h.metric("signalbox_disk_full_hosts") == "1"
		})
	}
	others[0].await("one of the others that leads", func() bool { return others[0].led()+others[1].led() > 0 })

	disks[full].clear()
	want := max(others[0].applied(), others[1].applied())
	hosts[full].await("host that has caught up", func() bool { return hosts[full].applied() >= want })
	hosts[full].awaitReady()
	for _, h := range others {
		h.await("leader that knows of the room", func() bool { return h.metric("signalbox_disk_full_hosts") == "0" })
	}
}

// TestWithTwoFullDisksOfThreeOnlyWhatFreesRoomIsTaken, and all comes back.
func TestWithTwoFullDisksOfThreeOnlyWhatFreesRoomIsTaken(t *testing.T) {
	t.Parallel()
	disks, hosts, c := hostsOnSmallDisks(t)
	data := strings.Repeat("d", 60_000)
	for n := range 16 {
		if err := c.create(fmt.Sprint("value-", n), data); err != nil {
			t.Fatal(err)
		}
	}
	fillDisk(t, disks[0], hosts[0])
	fillDisk(t, disks[1], hosts[1])
	c.awaitRefusal(t, hosts)
	for n := range 8 {
		if err := c.delete(fmt.Sprint("value-", n)); err != nil {
			t.Fatalf("what frees room is refused: %v", err)
		}
	}
	if got, err := c.read("value-8"); err != nil || got != data {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
	c.awaitRefusal(t, hosts) // deleting so little made no room
	disks[0].clear()
	for n := range 50 {
		err := c.update(fmt.Sprint("value-", 8+n%8), data+fmt.Sprint(n)) // retries until accepted
		if err != nil {
			t.Fatal(err)
		}
	}
	disks[1].clear()
	want := max(hosts[0].applied(), hosts[2].applied())
	for _, h := range hosts {
		h.await("host that has caught up", func() bool { return h.applied() >= want })
		h.awaitReady()
	}
}

// awaitRefusal waits until each shard refuses a change, and checks the reason in the error.
func (c *client) awaitRefusal(t *testing.T, hosts []*host) {
	t.Helper()
	for n := range 8 {
		name := fmt.Sprint("new-", n)
		hosts[0].await("change that is refused", func() bool {
			a, _, err := c.once(name, false, func() protocol.RequestMessage {
				return &protocol.SemaphoreCreate{NodeID: c.node, Name: []byte(name), Limit: 1}
			})
			switch {
			case err != nil:
			case a.Result.Status == protocol.StatusMoved:
				c.mu.Lock()
				c.where[name] = a.Result.Moved.LeaderAddress
				c.mu.Unlock()
			case a.Result.Status == protocol.StatusStorageFull:
				if text := string(a.Result.Message); !strings.Contains(text, "nearly full") {
					t.Errorf("it is refused with %q", text)
				}
				return true
			}
			return false
		})
	}
}
