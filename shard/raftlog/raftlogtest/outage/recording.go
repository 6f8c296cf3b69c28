package outage

import (
	"fmt"
	"strings"
)

// Recording is the events of a recorder, and the disk before the first event.
type Recording struct {
	start  *Disk
	events []event
}

// Replay replays the events and calls visit after each event, with the current disk, so that visit may draw images, and
// with the user's note, nil for other events. Replay ends when visit returns false.
func (r *Recording) Replay(visit func(at int, d *Disk, note any) bool) {
	d := r.start.Clone()
	for i, e := range r.events {
		e.play(d)
		var value any
		if n, ok := e.(note); ok {
			value = n.value
		}
		if !visit(i, d, value) {
			return
		}
	}
}

// Len returns the number of events.
func (r *Recording) Len() int { return len(r.events) }

// event is one change of a recorder's files, or a sync. Playing the event changes the disk.
type event interface{ play(d *Disk) }

type (
	made  struct{ node *node } // a new file or directory, without a name so far
	named struct {
		directory int
		change    rename
	}
	wrote struct {
		file   int
		change write
	}
	syncing struct{ node, sync int }
	synced  struct{ node, sync int }
	// note is a note of the recorder's user.
	note struct{ value any }
)

func (m made) play(d *Disk) {
	n := *m.node
	if n.directory {
		n = *newDirectory()
	}
	d.add(&n)
}

func (n named) play(d *Disk) {
	directory := d.nodes[n.directory]
	directory.renames = append(directory.renames, n.change)
}

func (w wrote) play(d *Disk) {
	file := d.nodes[w.file]
	file.writes = append(file.writes, w.change)
}

func (s syncing) play(d *Disk) { d.nodes[s.node].beginSync(s.sync) }
func (s synced) play(d *Disk)  { d.nodes[s.node].endSync(s.sync) }
func (note) play(*Disk)        {}

// Describe lists the last events up to a position, one per line.
func (r *Recording) Describe(at, lines int) string {
	names := make(map[int]string)
	var all []string
	for _, e := range r.events[:at+1] {
		switch e := e.(type) {
		case named:
			if e.change.to != "" {
				names[e.change.node] = e.change.to
			}
			all = append(all, fmt.Sprintf("rename %q to %q", e.change.from, e.change.to))
		case wrote:
			all = append(all, fmt.Sprintf("write %s, %d bytes at %d", names[e.file], len(e.change.data), e.change.at))
		case syncing:
			all = append(all, "sync "+names[e.node])
		case synced:
			all = append(all, "synced "+names[e.node])
		case note:
			all = append(all, fmt.Sprintf("%T %+v", e.value, e.value))
		}
	}
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
