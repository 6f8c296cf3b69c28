//go:build linux

package chaos

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// snapshots is the pattern of snapshot directories below a host's data directory.
const snapshots = "raft/*/*/snapshot-part-*/*"

// Names used by the log engine. A partial snapshot is in a directory named after the originating host; a complete one
// not yet recorded by the log has a flag file.
var (
	partialName = regexp.MustCompile(`^snapshot-[0-9A-F]+-([0-9]+)\.(generating|receiving)$`)
	flagFile    = "dragonboat.snapshot.message"
)

// recent is the maximum age of the last growth for a snapshot in progress: abandoned partial snapshots remain for a
// while.
const recent = time.Second

// partialSnapshot is an incomplete snapshot on disk.
type partialSnapshot struct {
	path string
	// received: it comes from another host.
	received bool
	// from is the saving or sending host.
	from int
}

// partialSnapshotsIn returns incomplete, growing snapshots below a host's directory.
func partialSnapshotsIn(dir string) (list []partialSnapshot) {
	found, _ := filepath.Glob(filepath.Join(dir, snapshots, "snapshot-*.*ing")) // the pattern is not bad
	for _, path := range found {
		parts := partialName.FindStringSubmatch(filepath.Base(path))
		if parts == nil || !grows(path) {
			continue
		}
		id, err := strconv.Atoi(parts[1])
		if err != nil || id < 1 || id > hosts {
			continue
		}
		list = append(list, partialSnapshot{path: path, received: parts[2] == "receiving", from: id - 1})
	}
	return list
}

// grows reports whether something in the directory was written recently.
func grows(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false // complete or abandoned
	}
	newest := time.Time{}
	if info, err := os.Stat(dir); err == nil {
		newest = info.ModTime()
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	return time.Since(newest) < recent
}

// completeSnapshots counts the complete snapshots below a host's directory. The host loads the newest ones when it
// starts.
func completeSnapshots(dir string) int {
	found, _ := filepath.Glob(filepath.Join(dir, snapshots, "snapshot-*", "snapshot-*.gbsnap"))
	n := 0
	for _, path := range found {
		if !partialName.MatchString(filepath.Base(filepath.Dir(path))) {
			n++
		}
	}
	return n
}

// Activity is an activity interrupted by a kill, according to the disks of all hosts.
type Activity string

// The activities.
const (
	// Saving, Receiving: the host's disk has a partial snapshot. Sending: another host's disk has a partial snapshot
	// from this host.
	Saving    Activity = "saving"
	Receiving Activity = "receiving"
	Sending   Activity = "sending"
	// Recording: a snapshot is complete, and the log may not have recorded it yet.
	Recording Activity = "recording"
	// Loading: the host was started and did not serve yet, and has a snapshot.
	Loading Activity = "loading"
)

// activitiesOf returns the activities shown by the disks right after a kill.
func (c *cluster) activitiesOf(host int) (list []Activity) {
	is := make(map[Activity]bool)
	for i, p := range c.places {
		for _, u := range partialSnapshotsIn(p.Dir) {
			switch {
			case i == host && u.received:
				is[Receiving] = true
			case i == host:
				is[Saving] = true
			case u.received && u.from == host:
				is[Sending] = true
			}
		}
	}
	flags, _ := filepath.Glob(filepath.Join(c.places[host].Dir, snapshots, "snapshot-*", flagFile))
	for _, path := range flags {
		dir := filepath.Dir(path)
		is[Recording] = is[Recording] || grows(dir) && !partialName.MatchString(filepath.Base(dir))
	}
	for _, a := range []Activity{Saving, Receiving, Sending, Recording} {
		if is[a] {
			list = append(list, a)
		}
	}
	return list
}
