package conformance

import (
	"maps"
	"slices"
	"time"
)

// fault is a step "on" in force: hosts handle a request kind by the fault instead of the model.
type fault struct {
	*step
	left int // how often; below 0 without end
}

// meet handles a request by the script, or by the model if the script has no entry. A request is answered at most once:
// a delaying fault holds only the answer, and other requests on the connection continue.
func (p *play) meet(r *request) {
	f := p.faultOf(r)
	if f == nil {
		o := p.respond(r)
		r.conn.answer(r, o.values)
		o.follow()
		return
	}
	if f.As != "" {
		r.used = true
		p.remember(f.As, r)
	}
	if f.Drop {
		r.give(f.Break)
		return
	}
	var o outcome
	if f.Refuse == nil || f.Done {
		o = p.respond(r)
	}
	if f.Refuse != nil {
		o = outcome{values: p.refusal(f.Refuse)}
	} else if f.Answer != nil {
		o = outcome{values: p.merge(o.values, f.Answer)}
		p.model.keep(r, o)
	}
	if f.Silent {
		r.answer = o.values
		r.give(f.Break)
		return
	}
	send := func() {
		r.conn.answer(r, o.values)
		o.follow()
		r.give(f.Break)
	}
	if f.DelayMS == 0 {
		send()
		return
	}
	time.AfterFunc(time.Duration(f.DelayMS)*time.Millisecond, func() { p.locked(send) })
}

// follow sends the messages behind an answer.
func (o outcome) follow() {
	if o.then != nil {
		o.then()
	}
}

// give ends the connection on the script's request.
func (r *request) give(up bool) {
	if up {
		r.conn.cut()
	}
}

// faultOf takes the first fault for a request.
func (p *play) faultOf(r *request) *fault {
	for i, f := range p.faults {
		if f.On != r.kind.Name || f.At != 0 && f.At != r.conn.host.id || p.differs(f.Where, r.values) != "" {
			continue
		}
		if f.left--; f.left == 0 {
			p.faults = slices.Delete(p.faults, i, i+1)
		}
		return f
	}
	return nil
}

// refusal is an answer with a status other than success. "leader" stands for the fields about the leading host.
func (p *play) refusal(of object) object {
	detail := p.expand(of).(object)
	status := detail["status"]
	delete(detail, "status")
	if leader, ok := detail["leader"]; ok {
		n, err := theSchema().numberOf("", leader)
		if err != nil || n == 0 || n > uint64(len(p.hosts)) {
			p.fail(errNoHost)
			n = 1
		}
		delete(detail, "leader")
		maps.Copy(detail, p.movedTo(1, n))
	}
	values := object{"status": status}
	if len(detail) > 0 {
		values["detail"] = detail
	}
	return values
}

// merge overwrites model fields with script fields. A model refusal becomes a success, because answer fields in a
// script imply success.
func (p *play) merge(values, over object) object {
	all := maps.Clone(values)
	delete(all, "status")
	delete(all, "detail")
	maps.Copy(all, p.expand(over).(object))
	return all
}

// keep stores the script's answer to a mutation for repetitions: after a lost connection, a client gets the same queue
// position or order id again. If the script did not grant an acquire, keep removes the ownership from the model.
func (m *model) keep(r *request, o outcome) {
	s := m.sessions[r.uint("session_id")]
	if s == nil || r.uint("sequence") == 0 {
		return
	}
	kept := maps.Clone(o.values)
	if r.kind.Name == "ACQUIRE" {
		kept["name"] = r.values["name"]
		x := m.semaphore(r)
		if mine := x.owners[s.id]; o.values["outcome"] != "ACQUIRED" {
			delete(x.owners, s.id)
		} else if order, err := theSchema().numberOf("", o.values["order_id"]); err == nil && mine != nil {
			mine.order = order
		}
	}
	s.answers[r.uint("sequence")] = outcome{values: kept}
}
