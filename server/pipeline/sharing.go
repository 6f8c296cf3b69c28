package pipeline

// flowOf returns the flow for a command.
func (p *Pipeline) flowOf(o *Op) *flow {
	s := o.Source
	if s == nil {
		return p.flows.host
	}
	f := s.flow(p.shard)
	if f == nil {
		f = p.flows.add(s.token, s.address)
		s.setFlow(p.shard, f)
	}
	return f
}

// Remove records that a source has closed. Its later commands count as the host's.
func (p *Pipeline) Remove(s *Source) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) > 0 {
		p.shareOut() // while the commands' sources are known
	}
	if f := s.flow(p.shard); f != nil && f != p.flows.host {
		p.flows.close(f)
	}
	s.setFlow(p.shard, p.flows.host)
}

// classify records whether a source asks for much, or for little next to a source that asks for much. The cost of the
// host's own queued commands is summed up: when the sum exceeds the host's share of a batch, the queue is divided.
func (p *Pipeline) classify(f *flow, o *Op) {
	cost := int(o.size) + commandCost
	if f == p.flows.host {
		if p.flows.queued == 0 {
			p.own += cost
		}
		return
	}
	if f.epoch != p.epoch {
		f.epoch, f.pending = p.epoch, 0
		f.light++
	}
	f.pending += cost
	p.latest = max(p.latest, o.Started)
	switch {
	case f.pending > heavyCost:
		f.heavyAt, p.heavy, f.light = p.latest, p.latest, 0
	case f.light > lightBatches && p.recently(p.heavy) && !p.recently(f.heavyAt):
		p.mixed = p.latest
	}
}

// recently returns whether an event is so recent that the queue is divided because of it.
func (p *Pipeline) recently(at int64) bool { return at > 0 && p.latest-at < int64(sharedFor) }

// shareOut moves the queue into the flows.
func (p *Pipeline) shareOut() {
	at := 0
	for i := range p.queue {
		o := &p.queue[i]
		p.flows.push(p.flowOf(o), *o, p.bytes[at:at+int(o.size)])
		at += int(o.size)
	}
	clear(p.queue)
	p.queue, p.bytes, p.own = p.queue[:0], p.bytes[:0], 0
}

// The shares of a batch: calm if no source asks for little next to a source that asks for much, otherwise mixed.
var (
	calm  = share{scale: maxBatchBytes / flowQuantum, large: maxBatchBytes}
	mixed = share{scale: 1, large: largePerBatch}
)

// nextShared removes the next batch from the flows. If a source that asks for little may be present, large commands
// are in flight in one batch at a time. The batch is empty if meanwhile only large commands wait.
func (p *Pipeline) nextShared() (ops []Op, bytes []byte) {
	if n := len(p.spare); n > 0 {
		ops, p.spare = p.spare[n-1], p.spare[:n-1]
	}
	by := calm
	if p.recently(p.mixed) {
		by = mixed
		by.scale = p.pace.scale()
		for i := range p.inflight {
			if p.inflight[i].large {
				by.large = 0
			}
		}
	}
	ops, p.other = p.flows.take(ops, p.other[:0], by)
	if len(ops) == 0 {
		p.spare = append(p.spare, ops)
		return nil, nil
	}
	p.shared.Add(1)
	for i := range ops {
		if !ops[i].Delayable {
			p.urgent.Add(-1)
		}
	}
	return ops, p.other
}
