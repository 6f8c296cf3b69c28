package conformance

import (
	"maps"
	"slices"
)

// model answers requests without an entry in the script, with the least for a client to go on. All hosts share the
// model. The cluster has no further users, so that every acquire is granted at once; the script plays further users.
type model struct {
	nodes      map[string]uint64 // ids by path
	dropped    map[string]bool
	sessions   map[uint64]*session
	semaphores map[semaphoreID]*semaphore
	counter    uint64 // of sessions
	order      uint64 // the newest order id
	since      uint64 // idempotent node changes
	idempotent map[string]outcome
}

type session struct {
	id, timeout, node, attachSequence uint64
	secret                            string
	ended                             bool
	attached                          *conn
	bound                             map[*conn]bool
	answers                           map[uint64]outcome // to mutations, by sequence
}

// semaphoreID is a name in a node.
type semaphoreID struct {
	node uint64
	name string
}

// semaphore is the object with a name. Every name exists until deleted, with a limit of 100.
type semaphore struct {
	gone     bool
	limit    uint64
	revision uint64
	data     string // hex
	owners   map[uint64]*owner
}

type owner struct {
	order, count uint64
	data         string
}

// outcome is an answer: the fields, and the messages right behind the answer.
type outcome struct {
	values object
	then   func()
}

func newModel() *model {
	return &model{
		nodes: make(map[string]uint64), dropped: make(map[string]bool), sessions: make(map[uint64]*session),
		semaphores: make(map[semaphoreID]*semaphore), order: 1000, since: 1, idempotent: make(map[string]outcome),
	}
}

// done is a success with fields.
func done(values object) outcome {
	if values == nil {
		values = object{}
	}
	return outcome{values: values}
}

// refused is an answer with a status other than success.
func refused(status string, detail object) outcome {
	values := object{"status": status}
	if detail != nil {
		values["detail"] = detail
	}
	return outcome{values: values}
}

// forget takes a connection from all sessions after the close. A session with timeout 0 ends then, at a close by
// the client and at a cut by the script alike.
func (m *model) forget(c *conn) {
	for _, s := range m.sessions {
		delete(s.bound, c)
		if s.attached == c {
			s.attached = nil
			if s.timeout == 0 {
				m.end(s)
			}
		}
	}
}

func (m *model) end(s *session) {
	s.ended, s.attached = true, nil
	for _, x := range m.semaphores {
		delete(x.owners, s.id)
	}
}

// node returns a path's id. Every path has a node until dropped.
func (m *model) node(path string) uint64 {
	id := m.nodes[path]
	if id == 0 {
		id = uint64(len(m.nodes) + 1)
		m.nodes[path] = id
	}
	return id
}

func (m *model) semaphore(r *request) *semaphore {
	id := semaphoreID{r.uint("node_id"), r.values["name"].(string)}
	x := m.semaphores[id]
	if x == nil {
		x = &semaphore{limit: 100, revision: 10, owners: make(map[uint64]*owner)}
		m.semaphores[id] = x
	}
	return x
}

// lose removes the owners of all semaphores with a name, like a forced delete, without a push to the client. Cached
// answers to acquires become ABORTED, as in a shard, so that a repeating client learns about the loss.
func (m *model) lose(name string) {
	for id, x := range m.semaphores {
		if id.name == name {
			clear(x.owners)
			x.revision++
		}
	}
	for _, s := range m.sessions {
		for sequence, o := range s.answers {
			if o.values["outcome"] == "ACQUIRED" && o.values["name"] == name {
				s.answers[sequence] = refused("ABORTED", object{"reason": "DELETED"})
			}
		}
	}
}

// use returns the request's session, if the request's connection may use it.
func (m *model) use(r *request) (*session, *outcome) {
	s := m.sessions[r.uint("session_id")]
	status := ""
	switch {
	case s == nil || s.ended:
		status = "SESSION_EXPIRED"
	case s.attached != r.conn && !s.bound[r.conn]:
		status = "BAD_SESSION"
	default:
		return s, nil
	}
	o := refused(status, nil)
	return nil, &o
}

// mutate executes a mutation, once per sequence. A mutation without a session has no sequence, and is executed on every
// attempt, so that a script can detect a wrong repetition.
func (m *model) mutate(r *request) outcome {
	var s *session
	if r.uint("session_id") != 0 {
		var no *outcome
		if s, no = m.use(r); no != nil {
			return *no
		}
		if kept, ok := s.answers[r.uint("sequence")]; ok {
			return outcome{values: clean(kept.values)}
		}
	}
	o := m.takePart(r)
	if r.kind.Kind < secondBlock {
		o = m.change(r, m.semaphore(r))
	}
	if s != nil {
		kept := maps.Clone(o.values)
		if r.kind.Name == "ACQUIRE" {
			kept["name"] = r.values["name"]
		}
		if r.uint("sequence") > 0 {
			s.answers[r.uint("sequence")] = outcome{values: kept}
		}
	}
	return o
}

// secondBlock is the first kind in the second block of kinds.
const secondBlock = 128

// takePart carries out a request about a rollout or a process: a join gets an id, and the rest is for the script.
func (m *model) takePart(r *request) outcome {
	id := map[string]string{"ROLLOUT_JOIN": "instance_id", "PROCESS_JOIN": "member_id"}[r.kind.Name]
	if id == "" {
		return done(nil)
	}
	m.order++
	return done(object{id: m.order})
}

// clean is a cached answer without the semaphore's name, a model-only field.
func clean(kept object) object {
	values := maps.Clone(kept)
	delete(values, "name")
	return values
}

func (m *model) change(r *request, x *semaphore) outcome {
	mine := x.owners[r.uint("session_id")]
	guarded := r.uint("order_id")
	switch {
	case r.kind.Name == "SEMAPHORE_CREATE":
		x.gone, x.limit, x.data = false, r.uint("limit"), r.values["data"].(string)
		x.revision++
		return done(object{"revision": x.revision})
	case x.gone && r.kind.Name == "RELEASE":
		return done(object{"released": false})
	case x.gone && r.values["ephemeral"] != true:
		return refused("NOT_FOUND", nil)
	case guarded != 0 && (mine == nil || mine.order != guarded):
		return refused("FENCED", nil)
	}
	switch r.kind.Name {
	case "SEMAPHORE_UPDATE":
		x.data = r.values["data"].(string)
	case "SEMAPHORE_RESIZE":
		x.limit = r.uint("limit")
	case "SEMAPHORE_DELETE":
		x.gone, x.owners = true, make(map[uint64]*owner)
	case "RELEASE":
		delete(x.owners, r.uint("session_id"))
		if mine != nil {
			x.revision++
		}
		return done(object{"released": mine != nil})
	case "ACQUIRE":
		if mine == nil {
			m.order++
			mine = &owner{order: m.order}
			x.owners[r.uint("session_id")] = mine
		} else if r.uint("count") > mine.count {
			return refused("BAD_REQUEST", nil)
		}
		x.gone = false
		mine.count, mine.data = r.uint("count"), r.values["data"].(string)
		x.revision++
		return done(object{"outcome": "ACQUIRED", "order_id": mine.order, "semaphore_limit": x.limit})
	}
	x.revision++
	if r.kind.Name == "SEMAPHORE_DELETE" {
		return done(nil)
	}
	return done(object{"revision": x.revision})
}

// ownersOf are a semaphore's owners in message form.
func (s *semaphore) ownersOf() []any {
	var list []any
	for _, id := range slices.SortedFunc(maps.Keys(s.owners), func(a, b uint64) int {
		return int(s.owners[a].order) - int(s.owners[b].order)
	}) {
		o := s.owners[id]
		list = append(list, object{"order_id": o.order, "session_id": id, "count": o.count, "data": o.data})
	}
	return list
}

func (s *semaphore) count() (n uint64) {
	for _, o := range s.owners {
		n += o.count
	}
	return n
}

// slotOf is a request's slot, for finding the shard; ok is false for requests to all hosts.
func slotOf(r *request) (slot uint64, ok bool) {
	switch r.kind.Name {
	case "SESSION_ATTACH", "SESSION_STOP", "SESSION_DESTROY", "SESSION_DESCRIBE":
		return r.uint("session_id") >> 52, true
	case "INBOX_OPEN":
		return nameSlot(r), true
	}
	if _, mutates := r.values["sequence"]; mutates {
		return nameSlot(r), true
	}
	return 0, false
}
