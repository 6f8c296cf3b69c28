//go:build linux

package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// diskSize is the size of an in-memory disk.
	diskSize = 1 << 30
	// lateExit is the time after a full disk has been cleared during which a host may still exit because of it.
	lateExit = 3 * time.Second
	// exitNoRoom is the exit code of a host with a full disk.
	exitNoRoom = 75
)

// disk is a small in-memory file system that can be filled.
type disk struct{ dir string }

// mountDisk creates a directory and mounts a disk there.
func mountDisk(dir string) (*disk, error) {
	if err := os.Mkdir(dir, 0o750); err != nil {
		return nil, fmt.Errorf("chaos: mount a disk: %w", err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", diskSize)); err != nil {
		return nil, fmt.Errorf("chaos: mount a disk at %s: %w", dir, err)
	}
	return &disk{dir}, nil
}

// unmount unmounts the disk and discards its content.
func (d *disk) unmount() { _ = unix.Unmount(d.dir, unix.MNT_DETACH) }

// keep copies a host's data from the disk to a directory elsewhere, as far as possible.
func (d *disk) keep(to string) { _ = os.CopyFS(to, os.DirFS(filepath.Join(d.dir, "data"))) }

func (d *disk) ballast() string { return filepath.Join(d.dir, "ballast") }

// fill leaves so little room on the disk.
func (d *disk) fill(left int64) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(d.dir, &fs); err != nil {
		return fmt.Errorf("chaos: fill the disk at %s: %w", d.dir, err)
	}
	f, err := os.Create(d.ballast())
	if err != nil {
		return fmt.Errorf("chaos: fill the disk: %w", err)
	}
	defer f.Close()
	size := int64(fs.Bavail)*fs.Bsize - left
	if size <= 0 {
		return nil
	}
	if err := unix.Fallocate(int(f.Fd()), 0, 0, size); err != nil {
		return fmt.Errorf("chaos: fill the disk at %s with %d bytes: %w", d.dir, size, err)
	}
	return nil
}

// clear makes room again.
func (d *disk) clear() { _ = os.Remove(d.ballast()) }

// fill leaves a host too little disk space: less than its reserve, or almost none, so the host may exit. Without a
// separate disk, a host is restarted with an impossibly large reserve instead.
func (t *trial) fill(f Fault) (end func()) {
	d, h := t.cluster.disk, f.host()
	if d != nil {
		h = hosts - 1
	}
	free, ok := t.cluster.claim(h)
	if !ok {
		return nil
	}
	if d == nil {
		t.restart(h, "--min-free-disk", "1024TiB")
		return func() {
			defer free()
			t.restart(h)
		}
	}
	left := int64(0)
	if f.Amount < 0.5 {
		left = diskSize / 16
	}
	x := t.cluster.expectExit(h)
	if err := d.fill(left); err != nil {
		t.log("%v", err) // the host was faster
	}
	return t.makeRoom(h, x, free)
}

// slowDisk delays each log sync of a host by up to half a second.
func (t *trial) slowDisk(h int, amount float64) (end func()) {
	free, ok := t.cluster.claim(h)
	if !ok {
		return nil
	}
	p := t.cluster.places[h]
	delay := 20*time.Millisecond + time.Duration(amount*float64(480*time.Millisecond))
	if err := p.DelaySyncs(delay); err != nil {
		free()
		t.log("%v", err)
		return nil
	}
	return func() {
		if err := p.DelaySyncs(0); err != nil {
			t.cluster.addProblem(err.Error())
		}
		free()
	}
}

// startWithoutRoom kills a host, fills its disk, and starts it. The host continues or exits for lack of space, and
// continues once there is space.
func (t *trial) startWithoutRoom() (end func()) {
	h, d := hosts-1, t.cluster.disk
	if d == nil {
		return nil
	}
	free, ok := t.cluster.claim(h)
	if !ok {
		return nil
	}
	t.cluster.kill(h)
	if err := d.fill(0); err != nil {
		t.log("%v", err)
	}
	if err := t.cluster.start(h); err != nil {
		t.cluster.addProblem(err.Error())
	}
	return t.makeRoom(h, t.cluster.expectExit(h), free)
}

// makeRoom returns a function that clears a host's disk. If the host has exited by then, or does so shortly after, the
// reason must be lack of space, and the host is restarted.
func (t *trial) makeRoom(h int, x *incarnation, free func()) (end func()) {
	return func() {
		defer free()
		t.cluster.disk.clear()
		select {
		case <-x.Gone():
			if code := x.ExitCode(); code != exitNoRoom {
				t.cluster.addProblem(fmt.Sprintf("host %s ends with %d on a full disk", x.Place.Name, code))
			}
			t.cluster.removeProcess(h)
			t.up(h)
		case <-time.After(lateExit):
			t.cluster.cancelExit(x)
		}
	}
}

// restart stops a host cleanly and starts it again. It waits until the host serves, unless extra arguments prevent
// that.
func (t *trial) restart(h int, extra ...string) {
	t.cluster.stop(h)
	if err := t.cluster.start(h, extra...); err != nil {
		t.cluster.addProblem(err.Error())
		return
	}
	if len(extra) == 0 {
		_ = t.cluster.host(h).AwaitReady(restartTimeout) // checked at the end of the act
	}
}
