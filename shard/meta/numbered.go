package meta

import (
	"github.com/cespare/xxhash/v2"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// ClientID identifies a client for its command numbers. The id is 128 random bits, drawn when the client starts: a
// client cannot ask for another client's answers without knowing its id.
type ClientID [16]byte

// Numbered ensures that a command is applied at most once, however often the client sends it. The zero value is for a
// command without a number.
type Numbered struct {
	Client ClientID
	// Number is chosen by the client: each command has a new number, and keeps the number when it is sent again.
	Number uint64
	// Since is a NextAnswer the client knew before it first sent the command; it does not change on retries. The answer
	// to an applied command has position Since or later. So if all answers from Since on are kept and the command's
	// answer is missing, the command was not applied.
	Since uint64
}

// Answer is the kept part of the answer to a numbered command, as in its EffectResult.
type Answer struct {
	Client  ClientID
	Number  uint64
	Kind    CommandKind
	Status  protocol.Status
	Flags   EffectFlags // without FlagChanged
	Node    Node        // its ID is 0 for a result without a node
	Routing uint64
	Host    shard.HostID
	Shard   ShardID
	Message string
	// Asked is the request hash, for node changes. All other commands have 0, because hosts add the asking principal
	// and the time to them.
	Asked uint64
}

// askedOf returns the request hash for a node change, never 0, or 0 for all other commands. The hash covers the kind
// and the fields. A field introduced by a later level must be hashed only if it is not zero.
func askedOf(c *Command) uint64 {
	if c.Kind > CmdNodeDrop {
		return 0
	}
	form, err := appendCommand([]byte{byte(c.Kind)}, c)
	assert(err == nil, "a decoded command can be encoded")
	return max(xxhash.Sum64(form), 1)
}

// numberOf is an answer's key.
type numberOf struct {
	client ClientID
	number uint64
}

// answers are the answers to the latest numbered commands. Each answer has a position, counted from 1 over all clients.
type answers struct {
	next   uint64    // the next answer's position
	kept   []*Answer // the latest answers, by position; a list returned by freeze is never modified
	places map[numberOf]uint64
}

func newAnswers() answers { return answers{next: 1, places: make(map[numberOf]uint64)} }

// oldest returns the oldest kept answer's position.
func (a *answers) oldest() uint64 { return a.next - uint64(len(a.kept)) }

// find returns the kept answer to a number, or nil.
func (a *answers) find(client ClientID, number uint64) *Answer {
	place, ok := a.places[numberOf{client, number}]
	if !ok {
		return nil
	}
	return a.kept[place-a.oldest()]
}

// keep adds an answer, and discards the oldest answer if there are too many.
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

// freeze returns the present answers.
func (a *answers) freeze() []*Answer { return a.kept[:len(a.kept):len(a.kept)] }

// NextAnswer returns the position the next numbered command's answer will get. A client that sends a new command from
// now on passes it as Since.
func (m *Machine) NextAnswer() uint64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.answers.next
}

// numbered applies a numbered command, or repeats the earlier answer.
func (m *Machine) numbered(c *Command) {
	n := &c.Numbered
	if n.Client == (ClientID{}) || n.Number == 0 {
		m.refuse(protocol.StatusBadRequest, "a numbered command needs a client id and a number")
		return
	}
	if a := m.answers.find(n.Client, n.Number); a != nil {
		m.repeat(c, a)
		return
	}
	if n.Since < m.answers.oldest() {
		m.refuse(protocol.StatusStale, "number %d may have been carried out and forgotten: the client first sent "+
			"the number when the cluster had answered fewer than %d numbered changes, and older answers are gone",
			n.Number, m.answers.oldest())
		return
	}
	first := len(m.out.List)
	m.execute(c)
	r := &m.out.List[first]
	if r.Status == protocol.StatusOverloaded {
		return // the client retries, under the same number
	}
	m.answers.keep(&Answer{
		Client: n.Client, Number: n.Number, Kind: c.Kind,
		Status: r.Status, Flags: r.Flags &^ FlagChanged, Node: r.Node, Routing: r.Routing, Host: r.Host,
		Shard: r.Shard, Message: r.Message, Asked: askedOf(c),
	})
}

// repeat answers a retry with the earlier answer.
func (m *Machine) repeat(c *Command, a *Answer) {
	if a.Kind != c.Kind || a.Asked != askedOf(c) {
		m.refuse(protocol.StatusSequenceReused, "the client has used number %d for a different request, a %v; "+
			"every request needs a new number", a.Number, a.Kind)
		return
	}
	e := m.accept(a.Flags | FlagRepeated)
	e.Status, e.Node, e.Routing, e.Host, e.Shard, e.Message = a.Status, a.Node, a.Routing, a.Host, a.Shard, a.Message
}
