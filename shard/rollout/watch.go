package rollout

import "slices"

// A watch sees a rollout view: a head, and numbered rows. Head and rows have the revision of their last change. Readers
// ask for the changes since a known revision.
//
// The views are "", the whole rollout, with its locations and versions as rows; "location/NAME", for the instances in a
// location, with only a head, the target; "instances/NAME", with a location's counts as its head, and its instances as
// rows; "source", with only a head, the open request to the source.

// The lowest bits in a row number encode the row type.
const (
	rowOfLocation uint64 = 0
	rowOfVersion  uint64 = 1
	rowOfInstance uint64 = 2

	// RowBits is how many bits encode the row type.
	RowBits = 2
)

// InstanceRow is an instance's row number.
func InstanceRow(id uint64) uint64 { return id<<RowBits | rowOfInstance }

// viewRow is a row in a view.
type viewRow struct {
	ID uint64
	// Location is the id of an instance's location.
	Location uint64
}

func locationRow(id uint64) viewRow { return viewRow{ID: id<<RowBits | rowOfLocation} }

func versionRow(seq uint64) viewRow { return viewRow{ID: seq<<RowBits | rowOfVersion} }

func instanceRow(i *Instance) viewRow {
	return viewRow{ID: InstanceRow(i.ID), Location: i.location}
}

// HeadRevision is the revision at which the head of the whole rollout last changed.
func (r *Rollout) HeadRevision() uint64 { return r.headRevision }

// SpecRevision is the revision at which the spec last changed.
func (r *Rollout) SpecRevision() uint64 { return r.specRevision }

// TicketRevision is the revision at which the request to the source last changed.
func (r *Rollout) TicketRevision() uint64 { return r.ticketRevision }

// WholeRevision is the revision at which the head or any row in the whole rollout last changed. The head also changes
// when a row is deleted.
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

// NextRow returns the first row number behind a number, for a location or a version in the whole rollout.
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
