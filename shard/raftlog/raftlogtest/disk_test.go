package raftlogtest

import (
	"errors"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/shard/raftlog"
	"github.com/signalbox/signalbox/shard/raftlog/raftlogtest/outage"
)

// write writes to a file and syncs it.
func (d *Disk) write(name, text string) error {
	f, err := d.memory.Create(name)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(text))
	return errors.Join(err, f.Sync())
}

// TestOnlySyncsOfTheLogTakeTime: and none in a hurry. The disk stays slow across a power failure.
func TestOnlySyncsOfTheLogTakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewDisk("/data")
		d.Slow(func() time.Duration { return time.Second })
		for name, want := range map[string]time.Duration{"/data/1.wal": time.Second, "/data/record": 0} {
			for _, d := range []*Disk{d, d.PowerFailure(outage.Extremes[3])} {
				began := time.Now()
				if err := d.write(name, "text"); err != nil || time.Since(began) != want {
					t.Errorf("%s: %v, %v", name, time.Since(began), err)
				}
			}
		}
		end, began := d.Hurry(), time.Now()
		if err := d.write("/data/1.wal", "text"); err != nil || time.Since(began) != 0 {
			t.Errorf("in a hurry: %v, %v", time.Since(began), err)
		}
		end()
	})
}

// TestWhatIsUnderWayHurriesToo: a slow sync, and a stuck sync, which also ends with the process and when the disk is
// released.
func TestWhatIsUnderWayHurriesToo(t *testing.T) {
	m := NewMachine(NewNetwork(), "host-1:7421", raftlog.Config{})
	for what, end := range map[string]func(d *Disk){
		"somebody hurries": func(d *Disk) { d.Hurry() }, "the process ends": func(*Disk) { m.Kill() },
		"it is stuck no more": func(d *Disk) { d.Stick(false) },
	} {
		synctest.Test(t, func(t *testing.T) {
			d := NewDisk("/data")
			m.disk = d
			d.Stick(true)
			synced := make(chan error, 1)
			go func() { synced <- d.write("/data/1.wal", "text") }()
			select {
			case err := <-synced:
				t.Errorf("%s: a stuck disk has synced: %v", what, err)
			case <-time.After(time.Minute):
			}
			end(d)
			if err := <-synced; err != nil {
				t.Errorf("%s: %v", what, err)
			}
			d.Slow(func() time.Duration { return time.Hour })
			began := time.Now()
			go func() { synced <- d.write("/data/2.wal", "text") }()
			synctest.Wait()
			d.Hurry()
			if err := <-synced; err != nil || time.Since(began) != 0 {
				t.Errorf("%s: %v after %v", what, err, time.Since(began))
			}
		})
	}
}

// TestAFullDisk: a full disk refuses new data, and a trap refuses its chosen steps.
func TestAFullDisk(t *testing.T) {
	d, trapped := NewDisk("/data"), errors.New("trapped")
	d.Full(true)
	if err := d.write("/data/a", "text"); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("it is full: %v", err)
	}
	d.Full(false)
	if err := d.write("/data/a", "text"); err != nil {
		t.Errorf("there is room: %v", err)
	}
	var last Step
	d.Trap(func(s Step) error {
		last = s
		return trapped
	})
	if err := d.memory.Remove("/data/a"); !errors.Is(err, trapped) || last.Name != "/data/a" {
		t.Errorf("a trap: %+v, %v", last, err)
	}
	if last.Number != d.Steps() || d.Syncs() != 1 {
		t.Errorf("%d steps, %d syncs, the last is %+v", d.Steps(), d.Syncs(), last)
	}
}

// TestASkippedSyncIsAMistake: its data is lost.
func TestASkippedSyncIsAMistake(t *testing.T) {
	d := NewDisk("/data")
	d.Skip(func(name string) bool { return name == "/data" })
	if err := d.write("/data/a", "text"); err != nil {
		t.Fatal(err)
	}
	above, err := d.memory.OpenDir("/data")
	if err == nil {
		err = above.Sync()
	}
	if names := d.PowerFailure(outage.Extremes[0]).Names(); err != nil || len(names) != 0 {
		t.Errorf("%v, %v", names, err)
	}
	if names := d.Kill().Names(); len(names) != 1 {
		t.Errorf("after a kill there are %v", names)
	}
}

// TestADirectoryIsLocked: by one process at a time, and by the next process after the machine's end.
func TestADirectoryIsLocked(t *testing.T) {
	files := NewDisk("/data").Files()
	lock, err := files.LockDirectory("/data")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := files.LockDirectory("/data"); !errors.Is(err, raftlog.ErrDirectoryInUse) {
		t.Errorf("a second one: %v", err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := files.LockDirectory("/data"); err != nil {
		t.Errorf("the next one: %v", err)
	}
}
