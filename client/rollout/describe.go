package rollout

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

// ReadOption sets how a rollout is read.
type ReadOption = object.ReadOption

// Consistency sets the read consistency and overrides the node's configured mode.
func Consistency(mode client.Consistency) ReadOption {
	return object.Consistency(mode)
}

// WithReasons asks why the rollout does not move. The host has to look at every instance for the answer.
func WithReasons() ReadOption { return object.WithReasons() }

// A row id modulo four is the row type.
const (
	rowKinds    = 4
	locationRow = 0
	versionRow  = 1
)

// whole is a rollout's complete state while its pages are read.
type whole struct {
	State
	rows []kind.LocationRow
}

// Describe returns the complete rollout, without instances, history and payloads.
func (r *Rollout) Describe(ctx context.Context, options ...ReadOption) (*State, error) {
	return object.Whole(func() (*State, bool, error) {
		var w whole
		consistent, err := r.pages(ctx, "", options, w.add)
		return w.arranged(), consistent, err
	})
}

// add adds a page from the complete rollout.
func (w *whole) add(p page) error {
	now := p.answer.NowMillis
	if p.first {
		if err := protocol.ReadRecord(p.answer.Head, &w.State, now); err != nil {
			return err
		}
		w.Exists, w.Phase = true, p.answer.Phase
		w.Reasons = slices.Collect(p.answer.Reasons.All(now))
	}
	w.Revision = p.answer.Revision
	for row := range p.answer.Rows.All() {
		var err error
		switch row.ID % rowKinds {
		case locationRow:
			w.rows, err = object.Read(w.rows, row.Body, now)
		case versionRow:
			w.Versions, err = object.Read(w.Versions, row.Body, now)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// arranged returns the rollout with locations and versions in order.
func (w *whole) arranged() *State {
	slices.SortFunc(w.rows, func(a, b kind.LocationRow) int { return cmp.Compare(a.Place, b.Place) })
	slices.SortFunc(w.Versions, func(a, b Version) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, l := range w.rows {
		w.Locations = append(w.Locations, l.LocationState)
		w.Spec.Locations = append(w.Spec.Locations, l.Location)
	}
	return &w.State
}

// Versions returns the stored versions without payloads, oldest first.
func (r *Rollout) Versions(ctx context.Context, options ...ReadOption) ([]Version, error) {
	s, err := r.Describe(ctx, options...)
	if err != nil {
		return nil, err
	}
	return s.Versions, nil
}

// Payload returns a version with its payload.
func (r *Rollout) Payload(ctx context.Context, seq uint64, options ...ReadOption) (v Version, err error) {
	_, err = r.pages(ctx, "version/"+strconv.FormatUint(seq, 10), options, func(p page) error {
		return protocol.ReadRecord(p.answer.Head, &v, p.answer.NowMillis)
	})
	return v, err
}

// page is one description page.
type page struct {
	answer *protocol.RolloutDescribeAnswer // good for the call only
	first  bool
}

// part reads a rollout section.
func (r *Rollout) part(part string, options []ReadOption, add func(page) error) *object.Part {
	m := &protocol.RolloutDescribe{SectionRequest: object.Request(part, options)}
	return &object.Part{
		Object: &r.object, Operation: OpDescribe, Message: m, Request: &m.SectionRequest,
		Add: func(a *protocol.Answer, first bool) (revision, next uint64, err error) {
			d := &a.RolloutDescribe
			return d.Revision, d.Next, add(page{d, first})
		},
	}
}

// pages reads all pages in a rollout section. whole reports whether all pages show a single moment.
func (r *Rollout) pages(
	ctx context.Context, part string, options []ReadOption, add func(page) error,
) (whole bool, err error) {
	whole, err = r.part(part, options, add).Pages(ctx)
	return whole, failed(OpDescribe, r.Name(), err)
}

// rows reads a section's rows. Each row is one record.
func rows[T any, P object.Record[T]](
	ctx context.Context, r *Rollout, part string, options []ReadOption,
) (list []T, err error) {
	_, err = r.pages(ctx, part, options, func(p page) (err error) {
		list, err = object.ReadRows[T, P](list, &p.answer.Rows, p.answer.NowMillis)
		return err
	})
	return list, err
}

// Watch returns the states of the rollout, for a screen: the present state first, and then the newest state whenever
// the rollout has changed, with the reasons why the rollout does not move. A state comes at least once in the time
// every, because time alone changes phases, reasons and ages; with 0 only changes count. The rollout need not exist.
//
// The loop ends with an error when the context ends, the node is dropped, or the client is closed; lost connections do
// not end the loop.
func (r *Rollout) Watch(ctx context.Context, every time.Duration) iter.Seq2[*State, error] {
	return failure.InLoop(object.Watch(ctx, &r.object, protocol.ObjectRollout, every, object.States[State]{
		Describe: r.Describe, Revision: func(s *State) *uint64 { return &s.Revision },
	}), func(err error) error { return failed("watch", r.Name(), err) })
}
