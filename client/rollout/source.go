package rollout

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/client/internal/option"
	"github.com/signalbox/signalbox/client/internal/session"
	"github.com/signalbox/signalbox/client/internal/view"
	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

// farewellTime is how long a Source that is over tries to end its role.
const farewellTime = time.Second

// SourceOption sets how a source works.
type SourceOption func(*source)

// SourceName is the name by which people know the source.
func SourceName(name string) SourceOption { return func(s *source) { s.name = name } }

// source is a session in the role of a source.
type source struct {
	rollout  *Rollout
	name     string
	generate func(context.Context) (Version, error)
	views    *object.Follower

	in   *session.Incarnation // has the role; nil if no incarnation has
	id   uint64               // of the source, in questions
	done uint64               // the latest ticket that was answered
}

// Source makes versions for the rollout of a name in the session's node. The spec of the rollout says Asked. The
// source makes a version when it is asked for a version, until the context or the session ends; the error says why. If
// a rollout has several sources, they are asked in the order of joining: the next source when the source before is
// gone. A session is one source of a rollout.
//
// generate returns the payload, the label and the author of a version, or why there is no version now: the text is in
// the state of the rollout, and the source is asked again after the ask interval of the spec. The context ends when
// the question is void. generate runs on the goroutine of the call, once for each question.
//
// A refusal that other programs can mend does not end Source: the rollout may be made while the source runs.
func Source(
	ctx context.Context, s *client.Session, name string, generate func(ctx context.Context) (Version, error),
	options ...SourceOption,
) error {
	src := option.Apply(&source{rollout: NewInSession(s, name), generate: generate}, options)
	whole := ctx
	ctx, cancel := object.Within(ctx, s.Context())
	defer cancel()
	src.views = src.rollout.follow(ctx, "source")
	defer src.views.Stop()
	err := src.run(ctx)
	src.resign(context.WithoutCancel(whole))
	return failed(OpSource, name, err)
}

// run answers questions until the context ends.
func (s *source) run(ctx context.Context) error {
	var before *view.View
	for failures := 0; ; {
		wait := time.Duration(-1)
		switch err := s.takeRole(ctx); {
		case isFinal(ctx, err):
			return err
		case err != nil:
			wait = again.Pause(failures)
			failures++
		default:
			failures = 0
		}
		v, err := s.views.Next(ctx, wait)
		if err != nil {
			return err
		}
		if v == nil {
			continue
		}
		if endsParts(before, v) {
			s.in = nil // the sources of the rollout before are gone with the rollout
			s.views.WakeUp()
		}
		before = v
		var ticket kind.Ticket
		if err := object.Head(v, &ticket); err != nil {
			return err
		}
		if ticket.Number != 0 && ticket.Number != s.done && s.in != nil && ticket.Source == s.id {
			s.answer(ctx, ticket)
		}
	}
}

// takeRole gives the session the role, if the session's incarnation is without.
func (s *source) takeRole(ctx context.Context) error {
	if s.in != nil && s.in.Context().Err() == nil {
		return nil
	}
	return s.rollout.object.Session.Do(ctx, string(OpSource), s.rollout.Name(),
		func(ctx context.Context, in *session.Incarnation) error {
			var id uint64
			err := object.Mutate(ctx, in, s.rollout.Name(), s.roleMessage(false),
				func(a *protocol.Answer) { id = a.RolloutSource.SourceID })
			if err == nil {
				if id != s.id {
					s.done = 0
				}
				s.in, s.id = in, id
				context.AfterFunc(in.Context(), s.views.WakeUp)
			}
			return err
		})
}

func (s *source) roleMessage(off bool) object.Mutation {
	return func(k object.Key) protocol.MutationMessage {
		return &protocol.RolloutSource{
			NodeID: k.Node, Name: k.Name, SourceRole: kind.SourceRole{Off: off, Name: s.name},
		}
	}
}

// resign gives the role back, so that the next source is asked at once.
func (s *source) resign(ctx context.Context) {
	if s.in == nil || s.in.Context().Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, farewellTime)
	defer cancel()
	_ = object.Mutate(ctx, s.in, s.rollout.Name(), s.roleMessage(true), nil) // after an error it ends with the session
}

// answer answers a question, once.
func (s *source) answer(ctx context.Context, ticket kind.Ticket) {
	s.done = ticket.Number
	ctx, end := s.views.Begin(ctx, func(v *view.View) bool {
		var now kind.Ticket
		return object.Head(v, &now) == nil && now.Number == ticket.Number
	})
	defer end(nil)
	version, err := s.generate(ctx)
	if ctx.Err() != nil {
		return
	}
	offer := &protocol.RolloutOffer{Offering: kind.Offering{
		Ticket: ticket.Number, Payload: version.Payload, Label: version.Label, Author: version.By.Author,
	}}
	if err == nil {
		err = s.offer(ctx, offer)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, client.ErrFenced) {
		text := cmp.Or(cut(err.Error()), "the source gave no reason")
		err = s.offer(ctx, &protocol.RolloutOffer{
			Offering: kind.Offering{Ticket: ticket.Number, Declined: true, Text: text},
		})
	}
	if errors.Is(err, client.ErrNotFound) {
		s.in = nil
		s.views.WakeUp()
	}
}

// offer sends the answer to a question by the incarnation that was asked.
func (s *source) offer(ctx context.Context, offer *protocol.RolloutOffer) error {
	return s.rollout.object.Session.Do(ctx, string(OpOffer), s.rollout.Name(),
		func(ctx context.Context, in *session.Incarnation) error {
			if in != s.in {
				return client.ErrFenced // another incarnation was asked
			}
			return object.Mutate(ctx, in, s.rollout.Name(),
				func(k object.Key) protocol.MutationMessage {
					offer.NodeID, offer.Name = k.Node, k.Name
					return offer
				}, nil)
		})
}
