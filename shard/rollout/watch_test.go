package rollout

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
)

// TestATargetIsSmall: an instance's target message has the payload and little else.
func TestATargetIsSmall(t *testing.T) {
	s := play(t, "spec sas man:5000\njoin a.sas\npublish")
	shown := s.TargetView(s.Find("sas"))
	encoded := protocol.AppendRecord(nil, &shown)
	var read protocol.RolloutTarget
	err := protocol.ReadRecord(encoded, &read, 0)
	if err != nil || read.Generation != 1 || read.Seq != 1 || string(read.Label) != "v" ||
		string(read.Payload) != "payload" {
		t.Errorf("%+v, %v", read, err)
	}
	if extra := len(encoded) - len(read.Payload); extra > 40 {
		t.Errorf("a target takes %d bytes beside its payload", extra)
	}
}

// part is a head or a row of a view: its content, and its revision.
type part struct {
	body     []byte
	revision uint64
	row      viewRow // zero for a head
}

// parts are the heads and rows of all views, by name.
func (ra *random) parts() map[string]part {
	r := ra.rollout
	list := make(map[string]part)
	put := func(name string, revision uint64, row viewRow, shown field.Value) {
		if row.ID != 0 {
			name = fmt.Sprintf("row %d of %d", row.ID, row.Location)
		}
		list[name] = part{body: protocol.AppendRecord(nil, shown), revision: revision, row: row}
	}
	head, ticket := r.Head(), r.TicketView()
	put("head", r.HeadRevision(), viewRow{}, &head)
	put("ticket", r.TicketRevision(), viewRow{}, &ticket)
	for _, l := range r.locations {
		location, target := l.View(), r.TargetView(l)
		put("", l.Revision, locationRow(l.ID), &location)
		put(fmt.Sprint("counts ", l.ID), l.Revision, viewRow{}, &l.Counts)
		put(fmt.Sprint("target ", l.ID), l.TargetRevision, viewRow{}, &target)
	}
	for _, v := range r.versions {
		shown := r.VersionView(v)
		put("", v.Revision, versionRow(v.Seq), &shown)
	}
	for _, i := range ra.instances {
		if i.live {
			shown := i.View(i.ID)
			put("", i.Revision, instanceRow(i), &shown)
		}
	}
	return list
}

// watch compares the changes sent to watches with the actual changes: changed content has the command's revision, and
// its row is among the changed rows.
func (ra *random) watch() error {
	if !ra.watched {
		return nil
	}
	now := ra.parts()
	for name, p := range now {
		old, known := ra.shown[name]
		if ra.shown == nil || known && bytes.Equal(p.body, old.body) {
			continue
		}
		if p.revision != ra.revision || p.row.ID != 0 && !slices.Contains(ra.out.Rows, p.row) {
			return fmt.Errorf("the %s changed, has revision %d and is not among %v", name, p.revision, ra.out.Rows)
		}
	}
	for name, p := range ra.shown {
		if _, is := now[name]; is || p.row.ID == 0 {
			continue
		}
		if p.row.ID&3 == rowOfVersion {
			ra.tally["dropped"]++
		}
		if !slices.Contains(ra.out.Rows, p.row) {
			return fmt.Errorf("the %s is gone, and not among %v", name, ra.out.Rows)
		}
	}
	if ra.rollout.WholeRevision() > ra.revision {
		return fmt.Errorf("the rollout is of the revision %d", ra.rollout.WholeRevision())
	}
	ra.shown = now
	return nil
}
