package conformance

import (
	"maps"
	"strings"
	"time"
)

// invariants are the rules for clients in every script, under all host faults.
type invariants struct {
	attaches  map[uint64]uint64 // the highest attach sequence by session
	mutations map[mutationID]*mutation
}

type mutationID struct{ session, sequence uint64 }

// mutation is a mutation after the first try.
type mutation struct {
	first    object // first attempt's fields
	kind     string
	answered bool // with a final status
	// dropped is the sequence of a later mutation that acknowledges this unanswered mutation: the client gave it up,
	// and must not send it again.
	dropped uint64
}

func newInvariants() invariants {
	return invariants{attaches: make(map[uint64]uint64), mutations: make(map[mutationID]*mutation)}
}

// closeGrace is the maximum delay of a connection's end on its way to the host, while the client uses a newer
// connection. The close and the request arrive through two sockets, so their arrival order is undefined.
const closeGrace = 300 * time.Millisecond

// mustKeep notes the rules broken by a request. The first broken rule ends the script: a client in a state of its own
// makes later steps say little. Rules about connections come first, then rules about sessions and sequences.
func (p *play) mustKeep(r *request) {
	c := r.conn
	hello := r.kind.Name == "HELLO"
	switch {
	case !hello && !c.welcomed:
		p.violate("%s comes before the WELCOME of its connection", r.kind.Name)
	case hello && c.welcomed:
		p.violate("HELLO comes twice over one connection")
	case r.id == 0:
		p.violate("%s has the request id 0", r.kind.Name)
	case c.open[r.id] != nil || c.taken[r.id]:
		p.violate("%s has the request id %d, which is in use on its connection", r.kind.Name, r.id)
	case r.kind.Kind >= secondBlock && !p.announced[r.kind.Kind]:
		p.violate("%s is of the second block of kinds, and was not announced", r.kind.Name)
	}
	if len(c.open) >= p.inFlight {
		p.violate("%s is request %d that is not answered; the WELCOME allows %d", r.kind.Name, len(c.open)+1,
			p.inFlight)
	}
	p.mustAttachInOrder(r)
	p.mustMutateOnce(r)
	c.open[r.id] = r
}

// mustAttachInOrder: a session's attach sequence grows with every attach.
func (p *play) mustAttachInOrder(r *request) {
	if r.kind.Name != "SESSION_ATTACH" {
		return
	}
	id, sequence := r.uint("session_id"), r.uint("attach_sequence")
	if before, ok := p.must.attaches[id]; ok && sequence <= before {
		p.violate("SESSION_ATTACH has the attach sequence %d after %d", sequence, before)
	}
	p.must.attaches[id] = sequence
}

// mustMutateOnce: a sequence identifies one request, and a name has at most one mutation in flight. Between attempts
// with one sequence, only the acknowledgement and an acquire's waiting time may differ.
func (p *play) mustMutateOnce(r *request) {
	session, sequence, name := r.uint("session_id"), r.uint("sequence"), r.values["name"]
	if _, mutates := r.values["sequence"]; !mutates || session == 0 {
		return
	}
	if acknowledged := r.uint("acknowledged_sequence"); sequence == 0 || acknowledged >= sequence {
		p.violate("%s of %v has the sequence %d and acknowledges %d", r.kind.Name, name, sequence, acknowledged)
		return
	}
	id := mutationID{session, sequence}
	asked := maps.Clone(r.values)
	delete(asked, "acknowledged_sequence")
	delete(asked, "wait_ms")
	m := p.must.mutations[id]
	if m == nil {
		p.must.mutations[id] = &mutation{first: asked, kind: r.kind.Name}
	} else if m.kind != r.kind.Name || show(m.first) != show(asked) {
		p.violate("%s %s has the sequence %d of %s %s", r.kind.Name, show(asked), sequence, m.kind, show(m.first))
	} else if m.dropped > 0 && !m.answered {
		p.violate("%s with the sequence %d is sent again, and %d has acknowledged it", m.kind, sequence, m.dropped)
	}
	for before, m := range p.must.mutations {
		if before.session == session && before.sequence <= r.uint("acknowledged_sequence") && !m.answered {
			m.dropped = sequence
		}
	}
	for _, h := range p.hosts {
		for c := range h.conns {
			for _, o := range c.open {
				if o.uint("session_id") == session && o.values["name"] == name && o.uint("sequence") > 0 &&
					!r.goesBeside() && !o.goesBeside() {
					p.secondUnderWay(o, r)
				}
			}
		}
	}
}

// goesBeside reports whether a mutation may be in flight together with others for the name, like mutations by process
// members.
func (r *request) goesBeside() bool {
	return strings.HasPrefix(r.kind.Name, "PROCESS_") || r.kind.Name == "INBOX_ACK"
}

// secondUnderWay records a mutation sent before the answer to an older mutation for the name, unless the client had
// left the older mutation's connection.
func (p *play) secondUnderWay(o, r *request) {
	complain := func() {
		p.violate("%s %d of %v comes while %s %d is not answered", r.kind.Name, r.uint("sequence"),
			r.values["name"], o.kind.Name, o.uint("sequence"))
	}
	if o.conn == r.conn {
		complain()
		return
	}
	time.AfterFunc(closeGrace, func() {
		p.locked(func() {
			if !o.conn.closed {
				complain()
			}
		})
	})
}

// answered records a request's answer before it is sent.
func (p *play) answered(r *request, values object) {
	m := p.must.mutations[mutationID{r.uint("session_id"), r.uint("sequence")}]
	if m == nil {
		return
	}
	status, _ := theSchema().numberOf("Status", values["status"])
	switch theSchema().retries[status] {
	case "NEVER", "NEW_SEQUENCE":
		m.answered = true
	}
}

// uint is a number field in a request, 0 if missing.
func (r *request) uint(name string) uint64 {
	n, _ := r.values[name].(uint64)
	return n
}
