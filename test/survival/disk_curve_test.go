//go:build linux

package survival_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest/process"
)

var diskCurve = flag.Duration("disk", 0, "for how long TestTheDiskOfFewLargeObjects changes objects; 0: it is skipped")

// diskUse is the size of a data directory, in bytes.
type diskUse struct{ log, snapshots, reserve, other int64 }

func (u diskUse) total() int64 { return u.log + u.snapshots + u.reserve + u.other }

func diskUseOf(dir string) (u diskUse) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil // files come and go meanwhile
		}
		info, err := e.Info()
		switch {
		case err != nil:
		case e.Name() == "reserve":
			u.reserve += info.Size()
		case strings.Contains(path, "snapshot-part"):
			u.snapshots += info.Size()
		case filepath.Base(filepath.Dir(path)) == "log":
			u.log += info.Size()
		default:
			u.other += info.Size()
		}
		return nil
	})
	return u
}

// TestTheDiskOfFewLargeObjects changes 64 semaphores of 60 kB on a host with default settings for a long time, prints
// the data directory's size each second as CSV, and fails above 512 MiB.
func TestTheDiskOfFewLargeObjects(t *testing.T) {
	if *diskCurve == 0 {
		t.Skip("make disk runs it")
	}
	const promised, bytes, objects, clients = 512 << 20, 60_000, 64, 4
	dir, err := os.MkdirTemp(scratch, "disk-")
	if err != nil {
		t.Fatal(err)
	}
	found, err := process.Places(program, dir, []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	hosts := serveAll(t, []*place{{found[0]}})
	newNode(t, hosts, "/disk", protocol.NodeConfig{})
	var updates atomic.Int64
	until := time.Now().Add(*diskCurve)
	var running sync.WaitGroup
	defer running.Wait()
	for n := range clients {
		c, err := start(addresses(hosts), "/disk", 10*time.Second, newRecord(t))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.disconnect)
		running.Go(func() {
			if err := changeObjects(c, n*objects/clients, objects/clients, bytes, until, &updates); err != nil {
				t.Error(err)
			}
		})
	}
	most := int64(0)
	began := time.Now()
	fmt.Println("second,updates,log,snapshots,reserve,other,total")
	for tick := time.NewTicker(time.Second); time.Now().Before(until); <-tick.C {
		u := diskUseOf(dir)
		most = max(most, u.total())
		fmt.Printf("%.0f,%d,%d,%d,%d,%d,%d\n", time.Since(began).Seconds(), updates.Load(), u.log, u.snapshots,
			u.reserve, u.other, u.total())
	}
	if t.Logf("%d updates, at most %d MiB", updates.Load(), most>>20); most > promised {
		t.Errorf("the directory took %d MiB, want at most %d", most>>20, promised>>20)
	}
}

// changeObjects creates objects and changes them in turn until a given time.
func changeObjects(c *client, first, n, bytes int, until time.Time, updates *atomic.Int64) error {
	for i := range n {
		if err := c.create(fmt.Sprint("object-", first+i), ""); err != nil {
			return err
		}
	}
	for i := 0; time.Now().Before(until); i++ {
		data := fmt.Sprint(i, strings.Repeat("d", bytes))[:bytes]
		if err := c.update(fmt.Sprint("object-", first+i%n), data); err != nil {
			return err
		}
		updates.Add(1)
	}
	return nil
}
