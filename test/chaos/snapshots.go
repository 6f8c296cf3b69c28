//go:build linux

package chaos

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// snapshots is where a host has them, below its data directory, as a pattern.
const snapshots = "raft/*/*/snapshot-part-*/*"

// The names that the log's engine gives them. A partial snapshot is in a directory that names the host where it began;
// a complete one that the log has not recorded yet has a flag file.
var (
	partialName = regexp.MustCompile(`^snapshot-[0-9A-F]+-([0-9]+)\.(generating|receiving)$`)
	flagFile    = "dragonboat.snapshot.message"
)

// recent is how recently a snapshot must have grown to count as one that is being saved or received: partial ones that
// were given up stay for a while.
const recent = time.Second

// partialSnapshot is a snapshot on a disk that is not complete.
type partialSnapshot struct {
	path string
	// received: it comes from another host.
	received bool
	// from is the host that saves it, or sends it.
	from int
}

// partialSnapshotsIn returns the snapshots below a host's directory that are not complete and still grow.
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
		return false // it is complete, or given up
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

// Activity is what a kill of a host interrupted, as its disk and those of the others show.
type Activity string

// The activities.
const (
	// Saving, Receiving: the host's disk has a part of a snapshot. Sending: the disk of another one has a part of
	// one that came from it.
	Saving    Activity = "saving"
	Receiving Activity = "receiving"
	Sending   Activity = "sending"
	// Recording: a snapshot is complete, and the log may not have recorded it yet.
	Recording Activity = "recording"
	// Loading: the host was started and did not serve yet, and has a snapshot.
	Loading Activity = "loading"
)

// activitiesOf returns what the disks show when a host has just been killed.
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
