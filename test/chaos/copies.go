//go:build linux

package chaos

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/server/servertest/process"
)

const (
	// exitRefused is the exit code of a host that was expelled, or whose directory must not be used.
	exitRefused = 65
	// behind is the required lag of a copy, in entries of some shard, if peers are to detect the copy.
	behind = 100
)

// setBack copies the directory of a running host, later kills the host and starts it with the copy, which must not
// serve. A file copy is detectable on its own. A disk copy is not: the other hosts refuse it, because they know what
// the host has confirmed since, so no other host may be disturbed meanwhile. Finally the host gets its own directory
// back.
func (t *trial) setBack(f Fault) (end func()) {
	h := f.host()
	place := t.cluster.places[h]
	free, ok := t.cluster.claim(h)
	if !ok {
		return nil
	}
	kept := place.Dir + ".copy"
	if err := copyDir(place.Dir, kept); err != nil { // the disk may be full
		t.log("host %s: no copy: %v", place.Name, err)
		_ = os.RemoveAll(kept)
		free()
		return nil
	}
	first := t.applied(h)
	return func() {
		defer free()
		defer os.RemoveAll(kept)
		last := t.applied(h)
		calm := t.calmOthers(h)
		ofDisk := f.Amount < 0.5 && calm != nil && ahead(first, last)
		if calm != nil {
			defer calm()
		}
		t.cluster.kill(h)
		err := t.lend(place, kept, func() error {
			if ofDisk {
				if err := os.Remove(filepath.Join(place.Dir, identity.AnchorName)); err != nil {
					return err
				}
			}
			t.startRefused(h, ofDisk)
			return nil
		})
		if err != nil {
			t.cluster.addProblem(err.Error())
		}
		if ofDisk {
			t.admit(h) // the others have seen the copy's start number: the host's own next start uses it again
			return
		}
		t.up(h)
	}
}

// calmOthers keeps faults from all hosts except h. It returns nil if another host is already disturbed.
func (t *trial) calmOthers(h int) (end func()) {
	var others []int
	for _, i := range t.cluster.members() {
		if i != h {
			others = append(others, i)
		}
	}
	free, ok := t.cluster.claim(others...)
	if !ok {
		return nil
	}
	if !t.network.faults.TryLock() {
		free()
		return nil
	}
	return all(t.network.faults.Unlock, free)
}

// applied returns the applied index per shard, as reported by the host; empty without an answer.
func (t *trial) applied(h int) map[uint64]uint64 {
	indexes := make(map[uint64]uint64)
	for _, s := range t.cluster.statuses([]int{h})[h].Shards {
		indexes[s.ID] = s.Applied
	}
	return indexes
}

// ahead reports whether a host has since applied enough entries to have confirmed some that were unconfirmed at copy
// time.
func ahead(first, last map[uint64]uint64) bool {
	for shard, index := range first {
		if last[shard] > index+behind {
			return true
		}
	}
	return false
}

// lend replaces a directory by a copy while do runs, and then restores it.
func (t *trial) lend(place *process.Place, kept string, do func() error) error {
	aside := place.Dir + ".aside"
	if err := errors.Join(os.Rename(place.Dir, aside), os.Rename(kept, place.Dir)); err != nil {
		return err
	}
	err := do()
	return errors.Join(err, os.RemoveAll(place.Dir), os.Rename(aside, place.Dir))
}

// startRefused starts a host that must exit before it serves.
func (t *trial) startRefused(h int, ofDisk bool) {
	if err := t.cluster.start(h); err != nil {
		t.cluster.addProblem(err.Error())
		return
	}
	x := t.cluster.expectExit(h)
	t.checkRefused(x.Host, ofDisk)
	x.Kill()
	t.cluster.removeProcess(h)
}

// checkRefused waits for a host to exit because its directory is a copy.
func (t *trial) checkRefused(h *process.Host, ofDisk bool) {
	kind := "files"
	if ofDisk {
		kind = "a disk"
	}
	var served bool
	err := h.Await("it is refused", restartTimeout, func() bool {
		code, _ := h.Get("/health/ready")
		served = code == 200
		return served
	})
	switch code, gone := exitCode(h); {
	case served:
		t.cluster.addProblem(fmt.Sprintf("host %s serves with a copy of %s", h.Place.Name, kind))
	case !gone:
		t.cluster.addProblem(fmt.Sprintf("host %s is not refused with a copy of %s: %v", h.Place.Name, kind, err))
	case code != exitRefused:
		t.cluster.addProblem(fmt.Sprintf("host %s with a copy of %s ends with %d", h.Place.Name, kind, code))
	default:
		t.log("host %s: a copy of %s is refused", h.Place.Name, kind)
	}
}

// exitCode returns the exit code of a process, if it has ended.
func exitCode(h *process.Host) (code int, gone bool) {
	select {
	case <-h.Gone():
		return h.ExitCode(), true
	default:
		return 0, false
	}
}

// besideItself starts a copy of a running host's directory beside the host, at different addresses. The copy is
// refused, and the host continues.
func (t *trial) besideItself(h int) (end func()) {
	free, ok := t.cluster.claim(h)
	if !ok {
		return nil
	}
	defer free()
	place := t.cluster.places[h]
	beside, err := process.NewPlace(place.Program, place.Dir+".beside")
	if err == nil {
		defer os.RemoveAll(beside.Dir)
		beside.Name = place.Name
		beside.Args = []string{"--name", place.Name, "--raft-listen", beside.Raft, "--raft-advertise", beside.Raft}
		err = copyDir(place.Dir, beside.Dir)
	}
	var copied *process.Host
	if err == nil {
		copied, err = beside.Start()
	}
	if err != nil { // the disk may be full
		t.log("no copy beside host %s: %v", place.Name, err)
		return nil
	}
	t.checkRefused(copied, false)
	copied.Kill()
	return func() {}
}

// copyDir copies a directory that its host may be writing to. Files deleted meanwhile are skipped.
func copyDir(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			err = os.MkdirAll(to+path[len(from):], 0o750)
		} else if err == nil {
			var text []byte
			if text, err = os.ReadFile(path); err == nil {
				err = os.WriteFile(to+path[len(from):], text, 0o640)
			}
		}
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	})
}
