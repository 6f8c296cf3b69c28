package server

import "slices"

// flowOf returns the flow of a command.
func (p *pipeline) flowOf(o *op) *flow {
	c := o.conn
	if c == nil {
		c = o.from
	}
	if c == nil {
		return p.flows.host
	}
	f := c.flows[p.id]
	if f == nil {
		f = p.flows.join(c.name, addressOf(c.peer.RemoteAddr()))
		c.flows[p.id] = f
	}
	return f
}

// leave says that a connection has gone. What comes for it from now on is the host's.
func (p *pipeline) leave(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) > 0 {
		p.share() // while it is known whose commands they are
	}
	if f := c.flows[p.id]; f != nil && f != p.flows.host {
		p.flows.leave(f)
	}
	c.flows[p.id] = p.flows.host
}

// weigh takes down who asks for much, and that somebody else does not.
func (p *pipeline) weigh(f *flow, o *op) {
	if f == p.flows.host {
		return
	}
	if f.epoch != p.epoch {
		f.epoch, f.pending = p.epoch, 0
		f.light++
	}
	f.pending += int(o.size) + commandCost
	p.latest = max(p.latest, o.started)
	switch {
	case f.pending > heavyCost:
		f.heavyAt, p.heavy, f.light = p.latest, p.latest, 0
	case f.light > lightBatches && p.recently(p.heavy) && !p.recently(f.heavyAt):
		p.mixed = p.latest
	}
}

// recently tells whether something happened so lately that the queue is shared out because of it.
func (p *pipeline) recently(at int64) bool { return at > 0 && p.latest-at < int64(sharedFor) }

// share moves the queue into the flows.
func (p *pipeline) share() {
	at := 0
	for i := range p.queue {
		o := &p.queue[i]
		p.flows.push(p.flowOf(o), *o, p.bytes[at:at+int(o.size)])
		at += int(o.size)
	}
	clear(p.queue)
	p.queue, p.bytes = p.queue[:0], p.bytes[:0]
}

// What a batch is shared out by: where nobody is there who asks for little besides those who ask for much, and
// where somebody is.
var (
	calm  = parts{scale: maxBatchBytes / flowQuantum, large: maxBatchBytes}
	mixed = parts{scale: 1, large: largePerBatch}
)

// nextShared takes the next batch out of the flows. Where it may be the turn of a connection that asks for little,
// large commands are under way in one batch at a time. It takes nothing where only such wait meanwhile.
func (p *pipeline) nextShared() (ops []op, bytes []byte) {
	if n := len(p.spare); n > 0 {
		ops, p.spare = p.spare[n-1], p.spare[:n-1]
	}
	parts := calm
	if p.recently(p.mixed) {
		parts = mixed
		for i := range p.flights {
			if p.flights[i].large {
				parts.large = 0
			}
		}
	}
	ops, p.other = p.flows.take(ops, p.other[:0], parts)
	if len(ops) == 0 {
		p.spare = append(p.spare, ops)
		return nil, nil
	}
	p.shared.Add(1)
	for i := range ops {
		if !ops[i].patient {
			p.urgent.Add(-1)
		}
	}
	return ops, p.other
}

// hasLarge tells whether large commands are in a batch.
func hasLarge(ops []op, bytes []byte) bool {
	return len(bytes) > largeCommand && slices.ContainsFunc(ops, func(o op) bool { return o.size > largeCommand })
}
