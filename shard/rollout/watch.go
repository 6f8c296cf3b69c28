package rollout

import "slices"

// A watch sees a view of a rollout: a head, and rows with numbers. Head and rows have the revision of their last
// change. Readers ask for the changes since a known revision.
//
// The views are: "", the whole rollout, whose rows are its locations and versions; "location/NAME", for the instances
// of a location, which has only a head, the target; "instances/NAME", whose head has the counts of a location, and
// whose rows are its instances; "source", which has only a head, the open question to the source.

// The lowest bits of a row's number say what the row is about.
const (
	rowOfLocation uint64 = 0
	rowOfVersion  uint64 = 1
	rowOfInstance uint64 = 2

	// RowBits is how many bits say what a row is about.
	RowBits = 2
)

// InstanceRow is the number of an instance's row.
func InstanceRow(id uint64) uint64 { return id<<RowBits | rowOfInstance }

// viewRow is a row of a view.
type viewRow struct {
	ID uint64
	// Location is the location of an instance, by id.
	Location uint64
}

func locationRow(id uint64) viewRow { return viewRow{ID: id<<RowBits | rowOfLocation} }

func versionRow(seq uint64) viewRow { return viewRow{ID: seq<<RowBits | rowOfVersion} }

func instanceRow(i *Instance) viewRow {
	return viewRow{ID: InstanceRow(i.ID), Location: i.location}
}

// HeadRevision is the revision at which the head of the whole rollout changed last.
func (r *Rollout) HeadRevision() uint64 { return r.headRevision }

// SpecRevision is the revision at which the spec changed last.
func (r *Rollout) SpecRevision() uint64 { return r.specRevision }

// TicketRevision is the revision at which the question to the source changed last.
func (r *Rollout) TicketRevision() uint64 { return r.ticketRevision }

// WholeRevision is the revision at which the head or a row of the whole rollout changed last. The head changes with
// rows that go.
func (r *Rollout) WholeRevision() uint64 {
	last := r.headRevision
	for _, l := range r.locations {
		last = max(last, l.Revision)
	}
	for _, v := range r.versions {
		last = max(last, v.Revision)
	}
	return last
}

// NextRow returns the number of the first row of the whole rollout behind a number: of a location or a version.
func (r *Rollout) NextRow(after uint64) (row uint64, ok bool) {
	for _, l := range r.locations {
		if id := locationRow(l.ID).ID; id > after && (!ok || id < row) {
			row, ok = id, true
		}
	}
	k, _ := slices.BinarySearchFunc(r.versions, after, func(v *Version, after uint64) int {
		if versionRow(v.Seq).ID > after {
			return 1
		}
		return -1
	})
	if k < len(r.versions) {
		if id := versionRow(r.versions[k].Seq).ID; !ok || id < row {
			row, ok = id, true
		}
	}
	return row, ok
}
