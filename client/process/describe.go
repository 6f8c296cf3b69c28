package process

import (
	"context"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
)

// State is a process's complete state at one moment. A State never changes and may be shared.
type State struct {
	// Exists reports whether the process exists. If not, all fields below are zero. Only Watch returns states for a
	// missing process.
	Exists   bool
	Revision uint64
	kind.Overview
	Members []MemberState // by id
	Results []Result      // kept results without payloads, by epoch
	// Reasons are why the round does not move, if the reader asked for reasons; a Watch always asks.
	Reasons []BlockReason
}

// Result is a round's result, from the coordinator that completed the round. Some descriptions omit the payload.
type Result struct {
	kind.Result
	Payload
}

func resultOf(row *kind.ResultRow) Result { return Result{row.Result, Payload{row.Payload, MsgPack}} }

// Member returns the member with the given id, or nil.
func (s *State) Member(id uint64) *MemberState {
	for i := range s.Members {
		if s.Members[i].ID == id {
			return &s.Members[i]
		}
	}
	return nil
}

// ReadOption sets how a process is read.
type ReadOption = object.ReadOption

// Consistency sets the read consistency and overrides the node's configured mode.
func Consistency(mode client.Consistency) ReadOption {
	return object.Consistency(mode)
}

// WithReasons asks why the round does not move. The host has to look at every member for the answer.
func WithReasons() ReadOption { return object.WithReasons() }

// Describe returns the complete process, without its actions and result payloads.
func (p *Process) Describe(ctx context.Context, options ...ReadOption) (*State, error) {
	return object.Whole(func() (*State, bool, error) { return p.read(ctx, options) })
}

// read reads the whole process. whole reports whether all pages show a single moment.
func (p *Process) read(ctx context.Context, options []ReadOption) (s *State, whole bool, err error) {
	s = &State{}
	whole, err = p.pages(ctx, "", options, s.add)
	return s, whole, err
}

// add adds a page from the complete process.
func (s *State) add(d *protocol.ProcessDescribeAnswer, first bool) error {
	if first {
		if err := protocol.ReadRecord(d.Head, &s.Overview, d.NowMillis); err != nil {
			return err
		}
		s.Exists = true
		for r := range d.Reasons.All(d.NowMillis) {
			s.Reasons = append(s.Reasons, r)
		}
	}
	s.Revision = d.Revision
	for row := range d.Rows.All() {
		if err := s.readRow(row.ID, row.Body, d.NowMillis); err != nil {
			return err
		}
	}
	return nil
}

// readRow adds a member or result row.
func (s *State) readRow(id uint64, body []byte, now uint64) error {
	if id%2 == 0 {
		var m MemberState
		if err := protocol.ReadRecord(body, &m, now); err != nil {
			return err
		}
		m.ID = id / 2
		s.Members = append(s.Members, m)
		return nil
	}
	var row kind.ResultRow
	if err := protocol.ReadRecord(body, &row, now); err != nil {
		return err
	}
	s.Results = append(s.Results, resultOf(&row))
	return nil
}

// Members returns the process members sorted by id, which is the order in which they joined.
func (p *Process) Members(ctx context.Context, options ...ReadOption) ([]MemberState, error) {
	s, err := p.Describe(ctx, options...)
	if err != nil {
		return nil, err
	}
	return s.Members, nil
}

// Why returns why the round does not progress, with the names of the members that block it; nothing if the round is
// complete.
func (p *Process) Why(ctx context.Context, options ...ReadOption) ([]BlockReason, error) {
	s, err := p.Describe(ctx, append(options[:len(options):len(options)], WithReasons())...)
	if err != nil {
		return nil, err
	}
	return s.Reasons, nil
}

// Results returns the stored results with payloads, oldest first. Result.Decode decodes a payload as MsgPack.
func (p *Process) Results(ctx context.Context, options ...ReadOption) (list []Result, err error) {
	_, err = p.pages(ctx, "results", options, func(d *protocol.ProcessDescribeAnswer, _ bool) error {
		return object.Records(&d.Rows, d.NowMillis, func(_ uint64, row *kind.ResultRow) {
			list = append(list, resultOf(row))
		})
	})
	return list, err
}

// Actions returns stored actions by operators and members on the process, oldest first.
func (p *Process) Actions(ctx context.Context, options ...ReadOption) (list []ActionRecord, err error) {
	_, err = p.pages(ctx, "actions", options, func(d *protocol.ProcessDescribeAnswer, _ bool) error {
		return object.Records(&d.Rows, d.NowMillis, func(id uint64, act *ActionRecord) {
			act.ID = id
			list = append(list, *act)
		})
	})
	return list, err
}

// part reads a process section.
func (p *Process) part(
	part string, options []ReadOption, add func(d *protocol.ProcessDescribeAnswer, first bool) error,
) *object.Part {
	m := &protocol.ProcessDescribe{SectionRequest: object.Request(part, options)}
	return &object.Part{
		Object: &p.object, Operation: OpDescribe, Message: m, Request: &m.SectionRequest,
		Add: func(a *protocol.Answer, first bool) (revision, next uint64, err error) {
			d := &a.ProcessDescribe
			return d.Revision, d.Next, add(d, first)
		},
	}
}

// pages reads all pages in a process section. whole reports whether all pages show a single moment.
func (p *Process) pages(
	ctx context.Context, part string, options []ReadOption,
	add func(d *protocol.ProcessDescribeAnswer, first bool) error,
) (whole bool, err error) {
	whole, err = p.part(part, options, add).Pages(ctx)
	return whole, failed(OpDescribe, p.Name(), err)
}

// readMembers reads the members in a round's epoch. They are consistent if all pages show a single moment, or if the
// epoch is still the round's after the read, because then no other epoch opened meanwhile.
func (r *Round) readMembers(ctx context.Context) ([]*Peer, error) {
	p := &Process{r.part.member.object}
	for {
		s, whole, err := p.read(ctx, []ReadOption{Consistency(client.Strict)})
		now := s
		if err == nil && !whole {
			now, err = p.head(ctx)
		}
		switch {
		case err != nil:
			return nil, err
		case now.Epoch > r.epoch:
			<-ctx.Done() // the round's end is about to arrive
			return nil, context.Cause(ctx)
		case s.Epoch == r.epoch:
			peers := make([]*Peer, 0, s.Of)
			for i := range s.Members {
				if m := &s.Members[i]; m.Of {
					peers = append(peers, &m.Peer)
				}
			}
			return peers, nil
		}
	}
}

// head reads the process head, without members.
func (p *Process) head(ctx context.Context) (*State, error) {
	s := &State{}
	part := p.part("", []ReadOption{Consistency(client.Strict)}, s.add)
	part.Request.Limit = 1
	_, err := part.Page(ctx)
	return s, err
}
