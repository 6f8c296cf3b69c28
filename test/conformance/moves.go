package conformance

import (
	"errors"
	"fmt"
	"maps"

	"github.com/signalbox/signalbox/protocol"
)

// places are the slot locations that a host knows. They are immutable, so a lagging host keeps an older value.
type places struct {
	version uint64           // of the routing
	shards  uint64           // data shards at the start, which have equally many slots
	moved   map[uint64]place // by slot
}

// place is a slot's shard, and the slot's generation there: 0 if the slot has never moved.
type place struct{ shard, generation uint64 }

// at is a slot's location.
func (p places) at(slot uint64) place {
	if at, ok := p.moved[slot]; ok {
		return at
	}
	return place{shard: slot*p.shards/protocol.Slots + 1}
}

// ranges are the slot ranges in an answer to ROUTING.
func (p places) ranges() (list []any) {
	first := uint64(0)
	for slot := range uint64(protocol.Slots) {
		if at := p.at(slot); slot+1 == protocol.Slots || p.at(slot+1) != at {
			list = append(list, object{"first": first, "last": slot, "shard_id": at.shard, "generation": at.generation})
			first = slot + 1
		}
	}
	return list
}

// places are the slot locations known to a host.
func (h *host) places() places {
	if h.lags != nil {
		return *h.lags
	}
	return h.play.places
}

// shardOf is a slot's shard.
func (p *play) shardOf(slot uint64) uint64 { return p.places.at(slot).shard }

// movedSlot is the detail of a MOVED from a host: a slot's location, with the leader.
func (h *host) movedSlot(slot uint64) object {
	known := h.places()
	at := known.at(slot)
	detail := h.play.movedTo(at.shard, h.play.leaders[at.shard])
	detail["routing_version"] = known.version
	if at.generation > 0 {
		detail["slot"], detail["generation"] = slot, at.generation
	}
	return detail
}

// behind refuses a read if the client knows a higher slot generation than the host.
func (h *host) behind(r *request) *outcome {
	switch r.kind.Name {
	case "SEMAPHORE_DESCRIBE", "WATCH", "ROLLOUT_DESCRIBE", "PROCESS_DESCRIBE", "SEMAPHORE_LIST":
	default:
		return nil
	}
	slot, _ := r.slots()
	if r.kind.Name != "SEMAPHORE_LIST" {
		slot = nameSlot(r)
	}
	if r.uint("generation") <= h.places().at(slot).generation {
		return nil
	}
	o := refused("UNAVAILABLE", object{"wait_ms": 50})
	return &o
}

// slots are the slots in a list request, and the first of them.
func (r *request) slots() (first uint64, slots []uint64) {
	ranges, _ := r.values["slots"].([]any)
	for _, x := range ranges {
		for slot := x.(object)["first"].(uint64); slot <= x.(object)["last"].(uint64); slot++ {
			slots = append(slots, slot)
		}
	}
	if len(slots) > 0 {
		first = slots[0]
	}
	return first, slots
}

// nameSlot is the slot of the name in a request.
func nameSlot(r *request) uint64 {
	return uint64(protocol.SemaphoreSlot(r.uint("node_id"), []byte(r.values["name"].(string))))
}

// slotToMove is the slot that a step "move" means: a session's home slot, or the slot of a name in the node /conform.
func (p *play) slotToMove(what string) uint64 {
	if what[0] != '$' {
		return uint64(protocol.SemaphoreSlot(p.model.node("/conform"), []byte(what)))
	}
	id, err := theSchema().numberOf("", p.expand(what))
	if err != nil {
		p.fail(fmt.Errorf("the script cannot be played: %s is no session id", what))
	}
	return id >> 52
}

// move moves a slot to another shard under the next generation. Hosts that do not lag then end everything that waits in
// the slot, and detach the sessions at home there.
func (p *play) move(s *step) error {
	slot := p.slotToMove(s.Move)
	at := p.places.at(slot)
	switch {
	case s.Shard == uint64(len(p.leaders)) && s.At > 0 && s.At <= uint64(len(p.hosts)):
		p.leaders = append(p.leaders, s.At)
	case s.Shard == 0 || s.Shard >= uint64(len(p.leaders)):
		return errors.New("the script cannot be played: there is no such shard")
	}
	next := p.places
	next.version++
	next.moved = maps.Clone(next.moved)
	if next.moved == nil {
		next.moved = make(map[uint64]place)
	}
	next.moved[slot] = place{s.Shard, at.generation + 1}
	p.places = next
	p.note("slot %d moves from shard %d to shard %d, generation %d", slot, at.shard, s.Shard, at.generation+1)
	for _, r := range p.requests {
		if r.stays() && !r.conn.closed && r.conn.host.lags == nil && r.isIn(slot) {
			r.endMoved(slot)
		}
	}
	for _, s := range p.model.sessions {
		c := s.attached
		if c != nil && s.id>>52 == slot && c.host.lags == nil {
			s.attached = nil
			c.push(theSchema().byName["SESSION_DETACHED"], 0, object{
				"session_id": s.id, "status": "MOVED", "detail": c.host.movedSlot(slot),
			})
		}
	}
	return nil
}

// stays reports whether messages may follow the request's answer.
func (r *request) stays() bool {
	return r.conn.taken[r.id] || r.kind.Name == "INBOX_OPEN" && r.answer != nil
}

// isIn reports whether a request is about a name in a slot.
func (r *request) isIn(slot uint64) bool {
	_, named := r.values["name"].(string)
	return named && nameSlot(r) == slot
}

// endMoved ends what a request has left open, because the slot has moved.
func (r *request) endMoved(slot uint64) {
	last, id, values := "ABORTED", r.id, object{"status": "MOVED", "detail": r.conn.host.movedSlot(slot)}
	switch r.kind.Name {
	case "WATCH":
		last = "WATCH_END"
	case "SEMAPHORE_DESCRIBE":
		last, values = "WATCH_CHANGED", object{}
	case "INBOX_OPEN":
		last, id = "INBOX", 0
		for _, name := range []string{"session_id", "node_id", "name", "member_id"} {
			values[name] = r.values[name]
		}
	}
	r.conn.push(theSchema().byName[last], id, values)
}
