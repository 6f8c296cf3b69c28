package rollout

import (
	"cmp"
	"context"
	"iter"
	"strconv"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
)

// describeTries is how often a rollout is read again that changes between its pages.
const describeTries = 5

// ReadOption sets how a rollout is read.
type ReadOption func(*protocol.RolloutDescribe)

// Consistency asks for more, or less, than the node's config does.
func Consistency(mode client.Consistency) ReadOption {
	return func(m *protocol.RolloutDescribe) { m.Consistency = protocol.Consistency(mode) }
}

// WithReasons asks why the rollout does not move. It takes the host a look at every instance.
func WithReasons() ReadOption { return func(m *protocol.RolloutDescribe) { m.Why = true } }

// The ids of rows say what they are, by the rest that four leaves.
const (
	rowKinds    = 4
	locationRow = 0
	versionRow  = 1
)

// Describe returns the whole rollout, without its instances, its history and the payloads.
func (r *Rollout) Describe(ctx context.Context, options ...ReadOption) (*State, error) {
	for try := 1; ; try++ {
		var s State
		whole, err := r.pages(ctx, "", options, func(p page) error { return s.add(p) })
		if err != nil {
			return nil, err
		}
		if whole || try == describeTries {
			s.arrange()
			return &s, nil
		}
	}
}

// add takes a page of the view of the whole rollout in.
func (s *State) add(p page) error {
	if p.first {
		var head protocol.RolloutHead
		if err := protocol.ReadRecord(p.answer.Head, &head); err != nil {
			return err
		}
		s.readHead(&head, p.now)
		s.Exists, s.Phase = true, Phase(p.answer.Phase)
		for m := range p.answer.Reasons.All() {
			s.Reasons = append(s.Reasons, reasonOf(&m, p.now))
		}
	}
	s.Revision = p.answer.Revision
	for row := range p.answer.Rows.All() {
		if err := s.addRow(&row, p.now); err != nil {
			return err
		}
	}
	return nil
}

func (s *State) addRow(row *protocol.Row, now clock) error {
	switch row.ID % rowKinds {
	case locationRow:
		var m protocol.RolloutLocation
		if err := protocol.ReadRecord(row.Body, &m); err != nil {
			return err
		}
		s.Locations = append(s.Locations, locationStateOf(&m, now))
	case versionRow:
		var m protocol.RolloutVersion
		if err := protocol.ReadRecord(row.Body, &m); err != nil {
			return err
		}
		s.Versions = append(s.Versions, versionOf(&m, now))
	}
	return nil
}

// Versions returns the versions that are kept, without their payloads, the oldest first.
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
		var m protocol.RolloutVersion
		if err := protocol.ReadRecord(p.answer.Head, &m); err != nil {
			return err
		}
		v = versionOf(&m, p.now)
		return nil
	})
	return v, err
}

// page is one page of a description.
type page struct {
	answer *protocol.RolloutDescribeAnswer // good for the call only
	now    clock
	first  bool
}

// page reads the page that m asks for, and makes m ask for the next one, or for none.
func (r *Rollout) page(
	ctx context.Context, m *protocol.RolloutDescribe, add func(page) error,
) (revision uint64, err error) {
	var bad error
	err = r.read(ctx, OpDescribe, func(k object.Key) protocol.RequestMessage {
		m.NodeID, m.Name = k.Node, k.Name
		return m
	}, func(a *protocol.Answer) {
		d := &a.RolloutDescribe
		bad = add(page{d, clock(d.NowMillis), m.After == 0})
		revision, m.After, m.Why = d.Revision, d.Next, false
	})
	return revision, cmp.Or(err, failed(OpDescribe, r.Name(), bad))
}

// pages reads a part of the rollout. whole says that all pages were of one moment.
func (r *Rollout) pages(
	ctx context.Context, part string, options []ReadOption, add func(page) error,
) (whole bool, err error) {
	m := newDescribe(part, options)
	first, err := r.page(ctx, m, add)
	for whole = true; err == nil && m.After != 0; {
		var revision uint64
		revision, err = r.page(ctx, m, add)
		whole = whole && revision == first
	}
	return whole, err
}

func newDescribe(part string, options []ReadOption) *protocol.RolloutDescribe {
	m := &protocol.RolloutDescribe{Part: protocol.View(part)}
	for _, o := range options {
		o(m)
	}
	return m
}

// rows reads the rows of a part, each of which is one record.
func rows[M any, T any, P object.Record[M]](
	ctx context.Context, r *Rollout, part string, options []ReadOption, of func(m *M, now clock) T,
) (list []T, err error) {
	_, err = r.pages(ctx, part, options, func(p page) error {
		return object.Records[M, P](&p.answer.Rows, func(_ uint64, m *M) { list = append(list, of(m, p.now)) })
	})
	return list, err
}

// Watch returns the states of the rollout, for a screen: the present one first, and then the newest whenever it has
// changed, with the reasons why it does not move, and at least so often, because time alone changes phases, reasons and
// ages; 0 leaves that out. The rollout need not exist.
//
// The loop ends with an error when the context ends, the node is dropped, or the client is closed; lost connections do
// not end it.
func (r *Rollout) Watch(ctx context.Context, every time.Duration) iter.Seq2[*State, error] {
	states := object.States[State]{
		Read: func(ctx context.Context, mode ...client.Consistency) (*State, uint64, error) {
			options := []ReadOption{WithReasons()}
			for _, m := range mode {
				options = append(options, Consistency(m))
			}
			s, err := r.Describe(ctx, options...)
			if err != nil {
				return nil, 0, err
			}
			return s, s.Revision, nil
		},
		None: func(revision uint64) *State { return &State{Revision: revision} },
	}
	return object.WithErrors(object.Watch(ctx, &r.object, protocol.ObjectRollout, every, states),
		func(err error) error { return failed("watch", r.Name(), err) })
}
