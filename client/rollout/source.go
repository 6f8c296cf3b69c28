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

// farewellTime is the maximum time for Source to give up its role at the end.
const farewellTime = time.Second

// SourceOption sets how a source works.
type SourceOption func(*source)

// SourceName sets the source's display name.
func SourceName(name string) SourceOption { return func(s *source) { s.name = name } }

// source is a session acting as a source.
type source struct {
	rollout  *Rollout
	name     string
	generate func(context.Context) (Version, error)
	views    *object.Follower

	in   *session.Incarnation // has the role; nil if no incarnation has
	id   uint64               // source id in requests
	done uint64               // latest ticket answered
}

// Source generates versions for the named rollout in the session's node, whose spec must use Asked. Source generates a
// version on request, until the context or the session ends, and returns the reason. If a rollout has several sources,
// the earliest is asked; the next source takes over when it is gone. A session can be only one source in a rollout.
//
// generate returns a version's payload, label and author, or an error if there is no version now. The error text
// appears in the rollout's state, and the source is asked again after the spec's ask interval. The context ends when
// the request is void. generate runs in the caller's goroutine, once per request.
//
// Source continues after rejections that other programs can resolve: for example, the rollout may be created while
// Source runs.
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
			s.in = nil // the old rollout's sources are gone with the rollout
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

// resign gives up the role, so the next source is asked at once.
func (s *source) resign(ctx context.Context) {
	if s.in == nil || s.in.Context().Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, farewellTime)
	defer cancel()
	_ = object.Mutate(ctx, s.in, s.rollout.Name(), s.roleMessage(true), nil) // on error the role ends with the session
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

// offer answers a request with the incarnation that was asked.
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
