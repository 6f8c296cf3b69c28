package pipeline

// flows divide a shard's batches fairly among command sources: by token, within a token by address, within an address
// by source.
//
// The method is deficit round robin at every level. Commands are taken from the flow at the head while the flow has
// credit. The last command may cost more than the remaining credit: later credit pays the debt. Then the credit is
// replenished and the flow moves behind all other flows, at most once per batch. A flow that arrives with credit
// precedes the flows that were already served: a source that asks for little is served by the next batch, however
// many commands from other sources wait. No flow starves, because credit is replenished only in list order.
//
// The host's own commands are outside the tree. They go first, with at most hostPerBatch of every batch, even if
// nothing else waits. So the host's commands are in the next batches whatever clients ask for, and a client's command
// that arrives meanwhile never waits for a batch full of host commands.
//
// Commands from one source keep their order.
type flows struct {
	root   flow   // all clients
	host   *flow  // the host itself
	most   int    // maximum queued bytes of all clients
	queued int    // number of waiting commands, from clients and the host
	batch  uint64 // batch counter, for the marks in the flows

	ops  [][]Op // memory from emptied flows
	data [][]byte
}

func (fl *flows) init(most int) {
	fl.most = most
	fl.root.below = make(map[string]*flow)
	fl.host = &flow{}
}

// add creates a flow for a source.
func (fl *flows) add(token, address string) *flow {
	t := fl.root.find(token, tokenQuantum)
	a := t.find(address, addressQuantum)
	a.members++
	t.members++
	return &flow{parent: a, quantum: flowQuantum, credit: flowQuantum}
}

// find returns the flow for a token or an address, below this flow.
func (f *flow) find(key string, quantum int) *flow {
	x := f.below[key]
	if x == nil {
		x = &flow{parent: f, key: key, below: make(map[string]*flow), quantum: quantum, credit: quantum}
		f.below[key] = x
	}
	return x
}

// close records that a flow's source has closed. Its waiting commands are still proposed.
func (fl *flows) close(f *flow) {
	f.closed = true
	if f.queued == 0 {
		fl.remove(f)
	}
}

// remove removes a closed source's flow from the tree.
func (fl *flows) remove(f *flow) {
	for x := f.parent; x != &fl.root; x = x.parent {
		if x.members--; x.members == 0 {
			delete(x.parent.below, x.key)
		}
	}
}

// admits returns whether a command may be queued. A source with little waiting is refused only if the whole queue is
// full. A source with much waiting is refused if its token has as much waiting as there is free capacity: so half the
// queue is left for other tokens, however many connections one token has.
func (fl *flows) admits(f *flow) bool {
	if f == fl.host {
		return f.queued < hostCommands && f.bytes < fl.most/queueShare
	}
	commands, bytes := maxQueuedCommands-fl.root.queued, fl.most-fl.root.bytes
	if commands <= 0 || bytes <= 0 {
		return false
	}
	if f.queued < lightCommands && f.bytes < lightBytes {
		return true
	}
	t := f.token()
	return t.queued < commands && t.bytes < bytes
}

// push queues an encoded command.
func (fl *flows) push(f *flow, o Op, encoded []byte) {
	if f.queued == 0 {
		fl.allocate(f)
	}
	f.put(o, encoded)
	fl.queued++
	for x := f; x != nil; x = x.parent {
		if x.queued == 0 && x.parent != nil {
			x.parent.activate(x)
		}
		x.queued++
		x.bytes += len(encoded)
	}
}

// activate adds a flow that now has commands to the list for its credit.
func (f *flow) activate(x *flow) {
	f.active++
	if x.credit > 0 {
		f.fresh.push(x)
	} else {
		f.stale.push(x)
	}
}

// share is how much of a batch a flow may have.
type share struct {
	scale int // number of quanta per credit replenishment
	large int // maximum bytes per batch for clients' large commands; unless 0, one command is always taken
}

// take appends the next batch's commands: at least one, unless only large commands wait and by.large is 0.
func (fl *flows) take(ops []Op, data []byte, by share) ([]Op, []byte) {
	from, size := len(ops), len(data)
	ops, data = fl.takeOwn(ops, data)
	fl.batch++
	large, left := 0, false
	for fl.root.queued > 0 && len(ops)-from < maxBatchCommands {
		f := fl.pick(&fl.root, by.scale)
		if f == nil {
			if len(ops) > from || left {
				break
			}
			fl.batch++ // all flows are in debt: each gets credit once more
			continue
		}
		n := int(f.ops[f.opsAt].size)
		if len(ops) > from && len(data)-size+n > maxBatchBytes {
			break
		}
		if n > largeCommand {
			if by.large == 0 || large > 0 && large+n > by.large {
				f.done, left = fl.batch, true
				continue
			}
			large += n
		}
		ops, data = append(ops, f.ops[f.opsAt]), append(data, f.data[f.dataAt:f.dataAt+n]...)
		fl.pop(f, n)
	}
	return ops, data
}

// takeOwn appends the host's own commands in the next batch.
func (fl *flows) takeOwn(ops []Op, data []byte) ([]Op, []byte) {
	f := fl.host
	for cost := 0; f.queued > 0; {
		n := int(f.ops[f.opsAt].size)
		if cost > 0 && cost+n+commandCost > hostPerBatch {
			break
		}
		cost += n + commandCost
		ops, data = append(ops, f.ops[f.opsAt]), append(data, f.data[f.dataAt:f.dataAt+n]...)
		f.drop(n)
		fl.queued--
		f.queued--
		f.bytes -= n
		if f.queued == 0 {
			fl.release(f)
		}
	}
	return ops, data
}

// pick returns the source flow that is served next, below the flow f; nil if all sources have used up their share of
// the batch.
func (fl *flows) pick(f *flow, scale int) *flow {
	for !f.holds() {
		x := fl.pickBelow(f, scale)
		if x != nil {
			f = x
			continue
		}
		if f == &fl.root {
			return nil
		}
		f.done = fl.batch
		f = f.parent
	}
	return f
}

// pickBelow returns the flow directly below f that is served next. The flow is the head of its list.
func (fl *flows) pickBelow(f *flow, scale int) *flow {
	for passed := 0; passed < f.active; {
		x, list := f.first()
		if x.done == fl.batch {
			f.stale.push(list.pop())
			passed++
			continue
		}
		if x.alone() || x.credit > 0 {
			return x
		}
		if x.replenished == fl.batch {
			x.done = fl.batch
			continue
		}
		x.replenished = fl.batch
		x.credit += x.quantum * scale
		f.stale.push(list.pop())
		passed = 0
	}
	return nil
}

// pop removes the first command, which has n bytes, from the picked flow.
func (fl *flows) pop(f *flow, n int) {
	f.drop(n)
	for x := f; x != &fl.root; x = x.parent {
		if !x.alone() {
			x.credit -= n + commandCost
		}
		x.queued--
		x.bytes -= n
	}
	fl.queued--
	fl.root.queued--
	fl.root.bytes -= n
	for x := f; x != &fl.root && x.queued == 0; x = x.parent {
		_, list := x.parent.first()
		list.pop()
		x.parent.active--
		x.credit = min(x.credit, x.quantum)
	}
	if f.queued == 0 {
		fl.release(f)
		if f.closed {
			fl.remove(f)
		}
	}
}

// allocate gives a flow memory; release reclaims an emptied flow's memory. Large memory is left to the garbage
// collector.
func (fl *flows) allocate(f *flow) {
	if n := len(fl.ops); n > 0 {
		f.ops, f.data = fl.ops[n-1], fl.data[n-1]
		fl.ops, fl.data = fl.ops[:n-1], fl.data[:n-1]
	}
}

func (fl *flows) release(f *flow) {
	if len(fl.ops) < spareFlows && cap(f.ops) <= spareCommands && cap(f.data) <= spareBytes {
		fl.ops, fl.data = append(fl.ops, f.ops[:0]), append(fl.data, f.data[:0])
	}
	f.ops, f.data, f.opsAt, f.dataAt = nil, nil, 0, 0
}
