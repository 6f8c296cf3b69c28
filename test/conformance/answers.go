package conformance

import (
	"slices"
	"strings"

	"github.com/signalbox/signalbox/protocol"
)

// respond returns the model's answer to a request.
func (p *play) respond(r *request) outcome {
	m := p.model
	if away := p.elsewhere(r); away != nil {
		return *away
	}
	switch r.kind.Name {
	case "HELLO":
		return p.welcome(r)
	case "ROUTING":
		return done(p.routing(r.conn.host.places()))
	case "WATCH_STOP":
		return r.conn.stopWatch(r.uint("watch_id"))
	case "NODE_CREATE", "NODE_DESCRIBE", "NODE_ALTER", "NODE_DROP":
		return m.changeNode(r)
	case "SESSION_START", "SESSION_ATTACH", "SESSION_BIND", "SESSION_STOP", "SESSION_DESTROY", "SESSION_DESCRIBE",
		"SESSION_HOLDINGS":
		return p.session(r)
	case "SEMAPHORE_CREATE", "SEMAPHORE_UPDATE", "SEMAPHORE_RESIZE", "SEMAPHORE_DELETE", "ACQUIRE", "RELEASE":
		return m.mutate(r)
	case "SEMAPHORE_DESCRIBE":
		return m.describe(r)
	case "WATCH":
		return m.watch(p, r)
	case "SEMAPHORE_LIST":
		return p.list(r)
	case "PING", "HOST_STATUS", "NODE_LIST", "SESSION_LIST":
		return done(nil)
	}
	if p.announced[r.kind.Kind] {
		return m.mutate(r)
	}
	return refused("UNSUPPORTED", nil)
}

func (c *conn) stopWatch(id uint64) outcome {
	if !c.taken[id] {
		return refused("NOT_FOUND", nil)
	}
	delete(c.taken, id)
	return done(nil)
}

// elsewhere is the answer from a host that does not lead the request's shard, or does not know the slot's move.
func (p *play) elsewhere(r *request) *outcome {
	leader, shard := uint64(0), uint64(0)
	h := r.conn.host
	slot, bySlot := slotOf(r)
	switch {
	case bySlot:
		shard = h.places().at(slot).shard
		leader = p.leaders[shard]
	case r.kind.Name == "SESSION_START":
		shard = 1
		if leader = p.leaders[shard]; p.leads(h.id) {
			return nil
		}
	case strings.HasPrefix(r.kind.Name, "NODE_"):
		leader = p.leaders[0]
	}
	if leader == 0 || leader == h.id {
		return h.behind(r)
	}
	detail := p.movedTo(shard, leader)
	if bySlot {
		detail = h.movedSlot(slot)
	}
	o := refused("MOVED", detail)
	return &o
}

func (p *play) movedTo(shard, leader uint64) object {
	return object{
		"shard_id": shard, "leader_host_id": leader, "leader_address": p.hosts[leader-1].address(),
		"routing_version": p.places.version,
	}
}

// leads reports whether a host accepts new sessions: if the script names a home host, only that one does.
func (p *play) leads(host uint64) bool {
	if p.script.Home > 0 {
		return host == p.script.Home
	}
	return slices.Contains(p.leaders[1:], host)
}

// welcome accepts a client with the script's token. It announces only request kinds of the second block that the script
// lists, so a client that sends more breaks a rule.
func (p *play) welcome(r *request) outcome {
	if r.values["token"] != hexOf(p.script.Token) {
		return refused("UNAUTHORIZED", object{"message": "the token is not good"})
	}
	if r.uint("version_min") > 1 || r.uint("version_max") < 1 {
		return refused("UNSUPPORTED", nil)
	}
	h := r.conn.host
	var kinds []any
	for kind := range p.announced {
		kinds = append(kinds, kind)
	}
	return done(object{"request_kinds": kinds,
		"version": 1, "host_id": h.id, "host_name": h.address(), "cluster_id": "conform",
		"routing_version": h.places().version,
		"limits": object{
			"request_frame_bytes": maxRequestBytes, "answer_frame_bytes": maxRequestBytes,
			"data_bytes": protocol.DefaultDataBytes, "requests_in_flight": p.inFlight, "watches": 1000,
		},
		"ping_interval_ms": 10_000, "since": p.model.since,
	})
}

// routing is the answer to ROUTING: every host is an online replica for every shard.
func (p *play) routing(known places) object {
	var hosts, shards, all []any
	for _, h := range p.hosts {
		hosts = append(hosts, object{"id": h.id, "name": h.address(), "address": h.address(), "state": "ONLINE"})
		all = append(all, h.id)
	}
	for shard, leader := range p.leaders {
		shards = append(shards, object{"id": shard, "leader_host_id": leader, "replica_host_ids": all})
	}
	return object{"version": known.version, "hosts": hosts, "shards": shards, "slots": known.ranges()}
}

// changeNode executes node requests: a change with an idempotency record once, so that a repetition gets the cached
// answer.
func (m *model) changeNode(r *request) outcome {
	path := r.values["path"].(string)
	key := ""
	if n, ok := r.values["idempotency"].(object); ok && n["sequence"] != uint64(0) {
		key = show(object{"client": n["client"], "sequence": n["sequence"]})
		if kept, ok := m.idempotent[key]; ok {
			return kept
		}
	}
	_, existed := m.nodes[path]
	o := done(nil)
	switch {
	case r.kind.Name == "NODE_CREATE":
		delete(m.dropped, path)
		o.values["existed"] = existed
	case m.dropped[path]:
		return refused("NOT_FOUND", nil)
	case r.kind.Name == "NODE_DROP":
		delete(m.nodes, path)
		m.dropped[path] = true
	}
	if r.kind.Name != "NODE_DROP" {
		o.values["node"] = object{"id": m.node(path), "path": path, "config_version": 1}
	}
	if r.kind.Name != "NODE_DESCRIBE" {
		m.since++
		o.values["since"] = m.since
	}
	if key != "" {
		m.idempotent[key] = o
	}
	return o
}

// session carries out requests for sessions.
func (p *play) session(r *request) outcome {
	m := p.model
	if r.kind.Name == "SESSION_START" {
		return p.start(r)
	}
	s := m.sessions[r.uint("session_id")]
	if s == nil || s.ended {
		return refused("SESSION_EXPIRED", nil)
	}
	switch r.kind.Name {
	case "SESSION_ATTACH":
		if r.values["session_secret"] != s.secret || r.uint("attach_sequence") <= s.attachSequence {
			return refused("BAD_SESSION", nil)
		}
		s.attachSequence, s.attached = r.uint("attach_sequence"), r.conn
		if r.values["change"] == true {
			s.timeout = r.uint("timeout_ms")
		}
		return done(object{"lease": s.lease()})
	case "SESSION_BIND":
		if r.values["session_secret"] != s.secret {
			return refused("BAD_SESSION", nil)
		}
		s.bound[r.conn] = true
		return done(object{"node_id": s.node})
	case "SESSION_DESCRIBE":
		return done(object{"session": object{
			"id": s.id, "node_id": s.node, "timeout_ms": s.timeout, "attached": s.attached != nil,
		}})
	case "SESSION_HOLDINGS":
		return done(object{"holdings": m.holdings(p, s, r.uint("shard_id"))})
	}
	if r.kind.Name == "SESSION_STOP" && s.attached != r.conn && !s.bound[r.conn] {
		return refused("BAD_SESSION", nil)
	}
	m.end(s)
	return done(nil)
}

func (s *session) lease() object {
	return object{"node_id": s.node, "timeout_ms": s.timeout, "grace_ms": 1000}
}

// start creates a session at the request's host. The id carries a slot led by the host, like the home shard's slot in
// real session ids. The start's attach sequence is the session's first.
func (p *play) start(r *request) outcome {
	m := p.model
	path := r.values["path"].(string)
	if m.dropped[path] {
		return refused("NOT_FOUND", nil)
	}
	m.counter++
	home := uint64(0)
	for p.leaders[p.shardOf(home)] != r.conn.host.id {
		home++
	}
	s := &session{
		id: home<<52 + m.counter, timeout: r.uint("timeout_ms"), node: m.node(path),
		attachSequence: r.uint("attach_sequence"), secret: r.values["session_secret"].(string),
		attached: r.conn, bound: make(map[*conn]bool), answers: make(map[uint64]outcome),
	}
	m.sessions[s.id] = s
	p.must.attaches[s.id] = s.attachSequence
	return done(object{"session_id": s.id, "lease": s.lease()})
}

func (m *model) holdings(p *play, s *session, shard uint64) []any {
	var list []any
	for id, x := range m.semaphores {
		o := x.owners[s.id]
		if o != nil && p.shardOf(uint64(protocol.SemaphoreSlot(id.node, []byte(id.name)))) == shard {
			list = append(list, object{"name": id.name, "order_id": o.order, "count": o.count})
		}
	}
	return list
}

// pageItems is how many items a page of a list has at most.
const pageItems = 2

// list is a page of the semaphores that were created or used, in the slots in the request that the shard with the first
// slot has. As any host has a replica of every shard, no host redirects.
func (p *play) list(r *request) outcome {
	known := r.conn.host.places()
	first, slots := r.slots()
	shard := known.at(first).shard
	if len(slots) == 0 {
		shard = r.uint("shard_id")
	}
	var missing []any
	for _, slot := range slots {
		if known.at(slot).shard != shard {
			missing = append(missing, object{"first": slot, "last": slot})
		}
	}
	var names []string
	for id, x := range p.model.semaphores {
		slot := uint64(protocol.SemaphoreSlot(id.node, []byte(id.name)))
		if id.node == r.uint("node_id") && !x.gone && id.name > r.values["after"].(string) &&
			strings.HasPrefix(id.name, r.values["prefix"].(string)) && known.at(slot).shard == shard &&
			(len(slots) == 0 || slices.Contains(slots, slot)) {
			names = append(names, id.name)
		}
	}
	slices.Sort(names)
	next := ""
	if len(names) > pageItems {
		names = names[:pageItems]
		next = names[pageItems-1]
	}
	var items []any
	for _, name := range names {
		x := p.model.semaphores[semaphoreID{r.uint("node_id"), name}]
		items = append(items, object{
			"name": name, "limit": x.limit, "count": x.count(), "revision": x.revision, "owners": len(x.owners),
		})
	}
	return done(object{"semaphores": items, "next": next, "missing": missing})
}

func (m *model) describe(r *request) outcome {
	x := m.semaphore(r)
	if r.values["watch_data"] == true || r.values["watch_owners"] == true {
		if _, no := m.use(r); no != nil {
			return *no
		}
	}
	if x.gone {
		return refused("NOT_FOUND", nil)
	}
	values := object{
		"semaphore": object{
			"name": r.values["name"], "limit": x.limit, "count": x.count(), "revision": x.revision,
			"owners": len(x.owners), "data": x.data,
		},
		"watch_added": r.values["watch_data"] == true || r.values["watch_owners"] == true,
	}
	if r.values["include_owners"] == true {
		values["owners"] = x.ownersOf()
	}
	return done(values)
}

// watch answers a watch, and sends a snapshot unless the client has the newest revision. Views on objects other than
// semaphores are left to the script.
func (m *model) watch(p *play, r *request) outcome {
	if r.uint("object_kind") > 1 {
		return done(object{"object_kind": r.uint("object_kind")})
	}
	x := m.semaphore(r)
	return outcome{values: object{"object_kind": r.uint("object_kind")}, then: func() {
		if r.uint("since") != x.revision {
			r.conn.push(theSchema().byName["WATCH_SNAPSHOT"], r.id, m.snapshot(x))
		}
	}}
}

func (m *model) snapshot(x *semaphore) object {
	values := object{"revision": x.revision, "first": true, "last": true, "exists": !x.gone}
	if !x.gone {
		values["limit"], values["data"], values["owners"] = x.limit, x.data, x.ownersOf()
	}
	return values
}
