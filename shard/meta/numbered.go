package meta

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
)

// NumbersLevel is the level from which commands may be numbered, and their answers are kept.
var NumbersLevel = max(level.Of(level.MetaRecord, "State.NextAnswer"), level.Of(level.MetaRecord, "State.Answers"))

// ClientID names a client for the numbers of its commands. It is 128 random bits, drawn when the client starts: a
// client that does not know those of another one cannot ask for its answers.
type ClientID [16]byte

// Numbered makes a command one that is carried out once, however often it is sent. The zero value is that of a command
// without a number.
type Numbered struct {
	Client ClientID
	// Number is the client's own: it gives each command another one, and keeps it when it sends the command again.
	Number uint64
	// Since is a NextAnswer that the client knew before it sent the command the first time. It stays the same too. If
	// the command was carried out, its answer has that place or a later one; so where all answers from that place on
	// are kept and this one is not among them, the command was not carried out.
	Since uint64
}

// Answer is what is kept of the answer to a numbered command: what its R carried.
type Answer struct {
	Client  ClientID
	Number  uint64
	Kind    CommandKind
	Status  protocol.Status
	Flags   EffectFlags // without FlagChanged
	Node    Node        // its ID is 0 where R carried none
	Routing uint64
	Host    shard.HostID
	Message string
	// Asked is the hash of what a change of a node asked for, 0 where it was asked below the level of the rule. Other
	// commands have none: hosts add to them who asks, and when.
	Asked uint64
}

// numberOfOneRequest is the level from which the number of a change of a node belongs to what it asks for.
var numberOfOneRequest = level.Of(level.MetaRule, "number-of-one-request")

// askedOf returns the hash of what a change of a node asks for, which is not 0: its kind and its fields, in the form of
// the level that brought the hash. A field that a later level brings is hashed where it is not zero.
func askedOf(c *Command) uint64 {
	if c.Level < numberOfOneRequest || c.Kind > CmdNodeDrop {
		return 0
	}
	form, err := appendCommand([]byte{byte(c.Kind)}, c, numberOfOneRequest)
	assert(err == nil, "a command that was decoded can be encoded")
	if wait := c.Config.LongestWaitMillis; wait != 0 {
		form = binary.AppendUvarint(form, wait)
	}
	return max(xxhash.Sum64(form), 1)
}

// numberOf is what an answer is found by.
type numberOf struct {
	client ClientID
	number uint64
}

// answers are the answers to the latest numbered commands. Each has a place: they are counted from 1 on, over all
// clients.
type answers struct {
	next   uint64    // the place of the next answer
	kept   []*Answer // the last ones, by place; what freeze returned is never written to
	places map[numberOf]uint64
}

func newAnswers() answers { return answers{next: 1, places: make(map[numberOf]uint64)} }

// oldest returns the place from which on all answers are kept.
func (a *answers) oldest() uint64 { return a.next - uint64(len(a.kept)) }

// find returns the answer to a number, nil where none is kept.
func (a *answers) find(client ClientID, number uint64) *Answer {
	place, ok := a.places[numberOf{client, number}]
	if !ok {
		return nil
	}
	return a.kept[place-a.oldest()]
}

// keep adds an answer, and forgets the oldest one where there are too many.
func (a *answers) keep(next *Answer) {
	a.places[numberOf{next.Client, next.Number}] = a.next
	a.next++
	a.kept = append(a.kept, next)
	if len(a.kept) > MaxAnswers {
		oldest := a.kept[0]
		delete(a.places, numberOf{oldest.Client, oldest.Number})
		a.kept = a.kept[1:]
	}
}

// freeze returns the answers as they are now.
func (a *answers) freeze() []*Answer { return a.kept[:len(a.kept):len(a.kept)] }

// NextAnswer returns the place that the answer to the next numbered command gets, 0 where the cluster's level has no
// numbers: what a client that sends one from now on says as Since.
func (m *Machine) NextAnswer() uint64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.level < NumbersLevel {
		return 0
	}
	return m.answers.next
}

// numbered carries a numbered command out, or answers it as it was answered before.
func (m *Machine) numbered(c *Command) {
	n := &c.Numbered
	if n.Client == (ClientID{}) || n.Number == 0 {
		m.refuse(protocol.StatusBadRequest, "a numbered command needs the id of its client and a number")
		return
	}
	if a := m.answers.find(n.Client, n.Number); a != nil {
		m.repeat(c, a)
		return
	}
	if n.Since < m.answers.oldest() {
		m.refuse(protocol.StatusStale, "number %d may have been carried out and forgotten: it was first sent when the "+
			"cluster had answered fewer than %d numbered changes, and answers are kept from there on", n.Number,
			m.answers.oldest())
		return
	}
	first := len(m.out.List)
	m.execute(c)
	r := &m.out.List[first]
	if r.Status == protocol.StatusOverloaded {
		return // it is to be tried again, under the same number
	}
	m.answers.keep(&Answer{
		Client: n.Client, Number: n.Number, Kind: c.Kind,
		Status: r.Status, Flags: r.Flags &^ FlagChanged, Node: r.Node, Routing: r.Routing, Host: r.Host,
		Message: r.Message, Asked: askedOf(c),
	})
}

// repeat answers a command as it was answered before.
func (m *Machine) repeat(c *Command, a *Answer) {
	if c.Level >= numberOfOneRequest && (a.Kind != c.Kind || a.Asked != 0 && a.Asked != askedOf(c)) {
		m.refuse(protocol.StatusNumberReused, "number %d of this client was that of another request, a %v; each "+
			"request gets a number of its own", a.Number, a.Kind)
		return
	}
	if a.Kind != c.Kind {
		m.refuse(protocol.StatusBadRequest, "number %d of this client was that of a %v; each command gets a number of "+
			"its own", a.Number, a.Kind)
		return
	}
	e := m.accept(a.Flags | FlagRepeated)
	e.Status, e.Node, e.Routing, e.Host, e.Message = a.Status, a.Node, a.Routing, a.Host, a.Message
}
