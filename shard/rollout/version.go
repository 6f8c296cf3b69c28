package rollout

import (
	"cmp"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Version is a version for locations. Its seq is the timestamp in the source document (see DESIGN.md).
type Version struct {
	Seq       uint64
	Payload   []byte
	Label     string
	Author    string
	Reason    string
	Published uint64 // timestamp
	Wall      uint64 // Published as wall clock time
	Withdrawn bool
	// Abandoned are the ids of the locations that abandoned the version: neither these locations nor any later location
	// gets the version automatically.
	Abandoned []uint64
	Revision  uint64
}

// Publish adds a version.
func (r *Rollout) Publish(at At, p kind.Publication) Answer {
	if p.Fence != 0 && p.Fence < r.fence {
		return refuse(protocol.StatusFenced, "a version was published under the fencing token %d, above %d", r.fence,
			p.Fence)
	}
	if p.Compare && p.Expected != r.lastSeq {
		a := refuse(protocol.StatusPreconditionFailed, "the last version is %d, not %d", r.lastSeq, p.Expected)
		a.Seq = r.lastSeq
		return a
	}
	if a := r.addVersion(at, p); a.Status != protocol.StatusSuccess {
		return a
	}
	r.fence = max(r.fence, p.Fence)
	r.run(at, true)
	return Answer{Seq: r.lastSeq}
}

func (r *Rollout) addVersion(at At, p kind.Publication) Answer {
	if len(p.Payload) > kind.MaxPayload || !codec.FitText(kind.MaxText, p.Label, p.By.Author, p.By.Reason) {
		return refuse(protocol.StatusBadRequest, "a payload has at most %d bytes, label, author and reason %d",
			kind.MaxPayload, kind.MaxText)
	}
	v := &Version{
		Seq: r.lastSeq + 1, Payload: p.Payload, Label: p.Label, Author: p.By.Author, Reason: p.By.Reason,
		Published: clock.Moment(at.Now), Wall: at.Wall,
	}
	goes, kept := r.dropped(at.Now, v)
	if kept > maxPayloads {
		return refuse(protocol.StatusOverloaded, "the versions that are in use have %d bytes already",
			kept-len(p.Payload))
	}
	grows := v.size()
	for k, old := range r.versions {
		if goes[k] {
			grows -= old.size() + 8*len(old.Abandoned)
		}
	}
	if !at.mayGrow(grows) {
		return noRoom()
	}
	v.Payload = slices.Clone(p.Payload)
	r.lastSeq = v.Seq
	r.payloads = kept
	for k, old := range r.versions {
		if goes[k] {
			at.changeRow(versionRow(old.Seq))
			r.versions[k] = nil
		}
	}
	r.versions = append(slices.DeleteFunc(r.versions, func(v *Version) bool { return v == nil }), v)
	r.changeVersion(at, v)
	r.changeHead(at)
	return Answer{}
}

// dropped returns for every version, oldest first, whether it goes when a new version comes: versions go while there
// are more than the rollout keeps, or too many payload bytes. Versions in use stay. dropped also returns the payload
// bytes in the remaining versions.
func (r *Rollout) dropped(now uint64, v *Version) (goes []bool, payloads int) {
	needed := r.needed(now)
	goes = make([]bool, len(r.versions))
	payloads = r.payloads + len(v.Payload)
	count := len(r.versions) + 1
	for k, old := range r.versions {
		if !needed[k] && (count > r.rules.KeepVersions || payloads > maxPayloads) {
			goes[k] = true
			payloads -= len(old.Payload)
			count--
		}
	}
	return goes, payloads
}

// needed returns for every version whether the rollout must keep it at any age: as a location's target, as the version
// a location rolls back to, or as a location's next target, now or later.
func (r *Rollout) needed(now uint64) []bool {
	list := make([]bool, len(r.versions))
	mark := func(seq uint64) {
		if k, ok := r.indexOf(seq); ok {
			list[k] = true
		}
	}
	for _, l := range r.locations {
		mark(l.present())
		mark(l.Back)
		before := r.source(l)
		if l.Bypassed || before == nil {
			continue
		}
		ripe, next := r.candidates(l, before, now)
		for _, row := range []*Row{ripe, next} {
			if row != nil {
				mark(row.Seq)
			}
		}
	}
	return list
}

// Version returns a version, nil if it is not kept.
func (r *Rollout) Version(seq uint64) *Version {
	if k, ok := r.indexOf(seq); ok {
		return r.versions[k]
	}
	return nil
}

// Versions returns the kept versions, oldest first; callers must not modify them.
func (r *Rollout) Versions() []*Version { return r.versions }

func (r *Rollout) indexOf(seq uint64) (int, bool) {
	return slices.BinarySearchFunc(r.versions, seq, func(v *Version, seq uint64) int { return cmp.Compare(v.Seq, seq) })
}

func (r *Rollout) changeVersion(at At, v *Version) {
	v.Revision = at.Revision
	at.changeRow(versionRow(v.Seq))
}

// abandonedUpTo reports whether the location or an earlier location abandoned the version.
func (r *Rollout) abandonedUpTo(v *Version, l *Location) bool {
	return slices.ContainsFunc(v.Abandoned, func(id uint64) bool {
		at := r.byID(id)
		return at != nil && at.index <= l.index
	})
}

// setAbandoned records whether the location has abandoned the version.
func (r *Rollout) setAbandoned(at At, v *Version, l *Location, abandoned bool) {
	k := slices.Index(v.Abandoned, l.ID)
	switch {
	case abandoned && k < 0:
		v.Abandoned = append(v.Abandoned, l.ID)
	case !abandoned && k >= 0:
		v.Abandoned = slices.Delete(v.Abandoned, k, k+1)
	default:
		return
	}
	r.changeVersion(at, v)
}
