package meta

import (
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Encoding of numbers and their answers, in commands and snapshots. Both begin with a bit set for the parts that
// follow, so a later level can add parts. A build that finds an unknown bit, at or below the level, must stop.

const (
	// bodyNumbered: client (16 bytes), number and since follow.
	bodyNumbered = 1 << 0

	// answerNode, answerRouting, answerMessage, answerHost and answerShard: the result had the part.
	answerNode    = 1 << 0
	answerRouting = 1 << 1
	answerMessage = 1 << 2
	answerHost    = 1 << 3
	// answerAsked: the request hash is known.
	answerAsked = 1 << 4
	answerShard = 1 << 5
)

// errNewerPart is the error for an unknown bit in a bit set.
var errNewerPart = errors.New("this build does not know a part")

// fields encodes or decodes the part common to all command kinds.
func (n *Numbered) fields(c *codec.Coder) error {
	parts := uint64(0)
	if *n != (Numbered{}) {
		parts = bodyNumbered
	}
	codec.Uint(c, &parts)
	if parts&^bodyNumbered != 0 {
		return fmt.Errorf("%w: %#x: %w", errNewerPart, parts, ErrNewer)
	}
	if parts == 0 {
		return nil
	}
	c.Raw(n.Client[:])
	codec.Uint(c, &n.Number)
	codec.Uint(c, &n.Since)
	if *n == (Numbered{}) && c.Sound() {
		c.Fail("a number without a client")
	}
	return nil
}

// parts are the bits for the parts an answer has.
func (a *Answer) parts() (parts uint64) {
	if a.Node.ID != 0 {
		parts |= answerNode
	}
	if a.Routing != 0 {
		parts |= answerRouting
	}
	if a.Message != "" {
		parts |= answerMessage
	}
	if a.Host != 0 {
		parts |= answerHost
	}
	if a.Asked != 0 {
		parts |= answerAsked
	}
	if a.Shard != 0 {
		parts |= answerShard
	}
	return parts
}

// fields encodes or decodes an answer: the bits for its parts, client, number, kind, status, flags, and the parts.
func (a *Answer) fields(c *codec.Coder) error {
	parts := a.parts()
	codec.Uint(c, &parts)
	const known = answerNode | answerRouting | answerMessage | answerHost | answerAsked | answerShard
	if c.Reading() && parts&^known != 0 {
		return fmt.Errorf("%w: %w: %#x", ErrSnapshotNewer, errNewerPart, parts)
	}
	c.Raw(a.Client[:])
	codec.Uint(c, &a.Number)
	codec.Byte(c, &a.Kind)
	codec.Byte(c, &a.Status)
	codec.Byte(c, &a.Flags)
	if parts&answerNode != 0 {
		a.Node.fields(c)
	}
	if parts&answerRouting != 0 {
		codec.Uint(c, &a.Routing)
	}
	if parts&answerMessage != 0 {
		c.Text(&a.Message, anyLength)
	}
	if parts&answerHost != 0 {
		codec.Uint(c, &a.Host)
	}
	if parts&answerAsked != 0 {
		if c.Uint64(&a.Asked); a.Asked == 0 && c.Sound() {
			c.Fail("the request hash is 0")
		}
	}
	if parts&answerShard != 0 {
		codec.Uint(c, &a.Shard)
	}
	return c.Err()
}

// readAnswers reads the answers in one block. Their positions become known when all have been read: takePlaces.
func (l *loader) readAnswers(r *codec.Coder) error {
	for r.Left() > 0 {
		var a Answer
		err := a.fields(r)
		if err == nil {
			err = l.checkAnswer(&a)
		}
		if err != nil {
			return fmt.Errorf("answer %d: %w", len(l.answers.kept), err)
		}
		l.answers.kept = append(l.answers.kept, &a)
	}
	return nil
}

// takePlaces assigns positions to a snapshot's answers. The last answer gets the position before next.
func (a *answers) takePlaces() error {
	for i, one := range a.kept {
		n := numberOf{one.Client, one.Number}
		if place, ok := a.places[n]; ok {
			return fmt.Errorf("answers %d and %d have the same number %d", place-a.oldest(), i, one.Number)
		}
		a.places[n] = a.oldest() + uint64(i)
	}
	return nil
}

func (l *loader) checkAnswer(a *Answer) error {
	switch {
	case a.Client == (ClientID{}) || a.Number == 0:
		return errors.New("no client or no number")
	case commandLevel(a.Kind) > l.level:
		return fmt.Errorf("kind %v does not exist at level %d", a.Kind, l.level)
	case a.Flags&FlagChanged != 0:
		return errors.New("the kept answer reports a change")
	case len(a.Message) > MaxMessage:
		return fmt.Errorf("the message is %d bytes long; at most %d are allowed", len(a.Message), MaxMessage)
	case len(l.answers.kept) >= MaxAnswers:
		return fmt.Errorf("more than %d answers", MaxAnswers)
	case uint64(len(l.answers.kept))+1 >= l.answers.next:
		return fmt.Errorf("more answers than positions before %d", l.answers.next)
	case a.Node == (Node{}):
		return nil
	}
	return l.checkNodeForm(&a.Node)
}
