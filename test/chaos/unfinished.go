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

// What the log's engine calls them. One that is not complete is in a directory that says at which host it began; one
// that is complete and not in the log's own books yet has a flag.
var (
	unfinishedName = regexp.MustCompile(`^snapshot-[0-9A-F]+-([0-9]+)\.(generating|receiving)$`)
	flagFile       = "dragonboat.snapshot.message"
)

// fresh is how recently a snapshot must have grown to count as one that is being saved or received: what was broken
// off lies there for a while.
const fresh = time.Second

// unfinished is a snapshot on a disk that is not complete.
type unfinished struct {
	path string
	// received: it comes from another host.
	received bool
	// from is the host that saves it, or sends it.
	from int
}

// unfinishedIn returns the snapshots below a host's directory that are not complete and still grow.
func unfinishedIn(dir string) (list []unfinished) {
	found, _ := filepath.Glob(filepath.Join(dir, snapshots, "snapshot-*.*ing")) // the pattern is not bad
	for _, path := range found {
		parts := unfinishedName.FindStringSubmatch(filepath.Base(path))
		if parts == nil || !grows(path) {
			continue
		}
		id, err := strconv.Atoi(parts[1])
		if err != nil || id < 1 || id > hosts {
			continue
		}
		list = append(list, unfinished{path: path, received: parts[2] == "receiving", from: id - 1})
	}
	return list
}

// grows tells whether something in the directory was written a moment ago.
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
	return time.Since(newest) < fresh
}

// complete counts the snapshots below a host's directory that are: its newest ones it loads when it starts.
func complete(dir string) int {
	found, _ := filepath.Glob(filepath.Join(dir, snapshots, "snapshot-*", "snapshot-*.gbsnap"))
	n := 0
	for _, path := range found {
		if !unfinishedName.MatchString(filepath.Base(filepath.Dir(path))) {
			n++
		}
	}
	return n
}

// Moment is what was under way when a host was killed, as its disk and those of the others show.
type Moment string

// The moments.
const (
	// Saving, Receiving: the host's disk has a part of a snapshot. Sending: the disk of another one has a part of
	// one that came from it.
	Saving    Moment = "saving"
	Receiving Moment = "receiving"
	Sending   Moment = "sending"
	// Recording: a snapshot is complete, and the log's books may not have it yet.
	Recording Moment = "recording"
	// Loading: the host was started and did not serve yet, and has a snapshot.
	Loading Moment = "loading"
)

// momentsOf tells what lies on the disks when a host has just been killed.
func (c *cluster) momentsOf(host int) (list []Moment) {
	is := make(map[Moment]bool)
	for i, p := range c.places {
		for _, u := range unfinishedIn(p.Dir) {
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
		is[Recording] = is[Recording] || grows(filepath.Dir(path)) && !unfinishedName.MatchString(filepath.Base(filepath.Dir(path)))
	}
	for _, m := range []Moment{Saving, Receiving, Sending, Recording} {
		if is[m] {
			list = append(list, m)
		}
	}
	return list
}
