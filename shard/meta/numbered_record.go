package meta

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
)

// The forms of numbers and their answers, in commands and snapshots. Both forms begin with a set of bits for the
// parts that follow, so that a later level can add parts. A build that finds an unknown bit, at or below the level,
// must not go on.

const (
	// bodyNumbered: client (16 bytes), number and since follow.
	bodyNumbered = 1 << 0

	// answerNode, answerRouting, answerMessage and answerHost: the R had the part.
	answerNode    = 1 << 0
	answerRouting = 1 << 1
	answerMessage = 1 << 2
	answerHost    = 1 << 3
	// answerAsked: the hash of the request is known.
	answerAsked = 1 << 4
)

// errNewerPart is the error for an unknown bit in a set of bits.
var errNewerPart = errors.New("it has a part that this build does not know")

// appendNumbered writes the common part of commands of all kinds.
func appendNumbered(dst []byte, n *Numbered) []byte {
	if *n == (Numbered{}) {
		return append(dst, 0)
	}
	dst = append(dst, bodyNumbered)
	dst = append(dst, n.Client[:]...)
	dst = binary.AppendUvarint(dst, n.Number)
	return binary.AppendUvarint(dst, n.Since)
}

func readNumbered(r *fieldReader) (n Numbered, err error) {
	parts := r.number("parts")
	if parts&^bodyNumbered != 0 {
		return n, fmt.Errorf("%w: %#x: %w", errNewerPart, parts, ErrNewer)
	}
	if parts&bodyNumbered != 0 {
		n.Client = readClient(r)
		n.Number = r.number("number")
		n.Since = r.number("since")
		if r.err == nil && n == (Numbered{}) {
			r.fail("a number of no client")
		}
	}
	return n, nil
}

func readClient(r *fieldReader) (id ClientID) {
	if len(r.src) < len(id) {
		r.fail("client: %d bytes are needed, %d are left", len(id), len(r.src))
		return id
	}
	r.src = r.src[copy(id[:], r.src):]
	return id
}

// appendAnswer writes an answer in the form of a level: the bits of its parts, client, number, kind, status, flags,
// and the parts.
func appendAnswer(dst []byte, a *Answer, at level.Level) []byte {
	parts := uint64(0)
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
	dst = binary.AppendUvarint(dst, parts)
	dst = append(dst, a.Client[:]...)
	dst = binary.AppendUvarint(dst, a.Number)
	dst = append(dst, byte(a.Kind), byte(a.Status), byte(a.Flags))
	if parts&answerNode != 0 {
		dst = appendNode(dst, &a.Node, at)
	}
	if parts&answerRouting != 0 {
		dst = binary.AppendUvarint(dst, a.Routing)
	}
	if parts&answerMessage != 0 {
		dst = appendText(dst, a.Message)
	}
	if parts&answerHost != 0 {
		dst = binary.AppendUvarint(dst, uint64(a.Host))
	}
	if parts&answerAsked != 0 {
		dst = binary.LittleEndian.AppendUint64(dst, a.Asked)
	}
	return dst
}

func readAnswer(r *fieldReader, at level.Level) (a Answer, err error) {
	parts := r.number("parts")
	known := uint64(answerNode | answerRouting | answerMessage | answerHost)
	if at >= numberOfOneRequest {
		known |= answerAsked
	}
	if parts&^known != 0 {
		return a, fmt.Errorf("%w: %w: %#x", ErrSnapshotNewer, errNewerPart, parts)
	}
	a.Client = readClient(r)
	a.Number = r.number("number")
	a.Kind = CommandKind(r.octet("kind"))
	a.Status = protocol.Status(r.octet("status"))
	a.Flags = EffectFlags(r.octet("flags"))
	if parts&answerNode != 0 {
		a.Node = readNode(r, at)
	}
	if parts&answerRouting != 0 {
		a.Routing = r.number("routing version")
	}
	if parts&answerMessage != 0 {
		a.Message = r.text("message")
	}
	if parts&answerHost != 0 {
		a.Host = shard.HostID(r.number("host"))
	}
	if parts&answerAsked != 0 {
		if a.Asked = r.fixed64("asked"); a.Asked == 0 && r.err == nil {
			r.fail("what was asked has no hash")
		}
	}
	return a, r.err
}

// readAnswers reads the answers of one block. Their places are known when all have been read: takePlaces.
func (l *loader) readAnswers(r *fieldReader) error {
	for len(r.src) > 0 {
		a, err := readAnswer(r, l.level)
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

// takePlaces gives the answers of a snapshot their places. The last answer gets the place before next.
func (a *answers) takePlaces() error {
	for i, one := range a.kept {
		n := numberOf{one.Client, one.Number}
		if place, ok := a.places[n]; ok {
			return fmt.Errorf("answers %d and %d are of the same number %d", place-a.oldest(), i, one.Number)
		}
		a.places[n] = a.oldest() + uint64(i)
	}
	return nil
}

func (l *loader) checkAnswer(a *Answer) error {
	switch {
	case a.Client == (ClientID{}) || a.Number == 0:
		return errors.New("it has no client or no number")
	case commandLevel(a.Kind) > l.level:
		return fmt.Errorf("it answers a %v, which level %d does not have", a.Kind, l.level)
	case a.Flags&FlagChanged != 0:
		return errors.New("it says that something is changed by a command that comes again")
	case len(a.Message) > MaxMessage:
		return fmt.Errorf("its message is %d bytes long; at most %d are allowed", len(a.Message), MaxMessage)
	case len(l.answers.kept) >= MaxAnswers:
		return fmt.Errorf("there are more than %d", MaxAnswers)
	case uint64(len(l.answers.kept))+1 >= l.answers.next:
		return fmt.Errorf("there are more than have places before %d", l.answers.next)
	case a.Node == (Node{}):
		return nil
	}
	return l.checkNodeForm(&a.Node)
}
