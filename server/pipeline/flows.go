package pipeline

// flows share the batches of a shard fairly among the sources of commands: by token, within a token by address,
// within an address by source.
//
// It is deficit round robin at each level. The flow that is served has commands taken while it has credit, and the last
// of them may cost more than is left: the debt is paid with later credit. Then its credit is replenished and it goes
// behind all others, at the most once in a batch. A flow that comes with credit goes before those that were served: a
// source that asks for little is served by the next batch, however much waits of others. No flow starves: credit is
// replenished in the order of the list only.
//
// What the host itself asks for stands beside that: it goes first, with at most hostPerBatch of each batch, also where
// nothing else waits. So it is in the next batches whatever clients ask for, and a client's command that comes then
// waits for no batch that is full of it.
//
// Within a source, commands keep their order.
type flows struct {
	root  flow   // of all clients
	host  *flow  // of the host itself
	batch uint64 // counts the batches, for the marks of the flows

	ops  [][]Op // memory of flows that were emptied
	data [][]byte
}

func (fl *flows) init() {
	fl.root.below = make(map[string]*flow)
	fl.host = &flow{}
}

// queued returns how many commands wait.
func (fl *flows) queued() int { return fl.root.queued + fl.host.queued }

// add makes a flow for a source.
func (fl *flows) add(token, address string) *flow {
	t := fl.root.find(token, tokenQuantum)
	a := t.find(address, addressQuantum)
	a.members++
	t.members++
	return &flow{parent: a, quantum: flowQuantum, credit: flowQuantum}
}

// find returns the flow of a token, or of an address, below this one.
func (f *flow) find(key string, quantum int) *flow {
	x := f.below[key]
	if x == nil {
		x = &flow{parent: f, key: key, below: make(map[string]*flow), quantum: quantum, credit: quantum}
		f.below[key] = x
	}
	return x
}

// close says that the source of a flow has gone. What waits in it is still carried out.
func (fl *flows) close(f *flow) {
	f.closed = true
	if f.queued == 0 {
		fl.remove(f)
	}
}

// remove takes the flow of a source that has gone out of the tree.
func (fl *flows) remove(f *flow) {
	for x := f.parent; x != &fl.root; x = x.parent {
		if x.members--; x.members == 0 {
			delete(x.parent.below, x.key)
		}
	}
}

// admits returns whether a command may be queued. A source with little waiting is refused only where the whole queue is
// full. One with much is refused where its token has as much waiting as there is room left: so half of the queue is
// left for others, however many connections one token has.
func (fl *flows) admits(f *flow) bool {
	if f == fl.host {
		return f.queued < hostCommands && f.bytes < hostBytes
	}
	commands, bytes := maxQueuedCommands-fl.root.queued, maxQueuedBytes-fl.root.bytes
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
	for x := f; x != nil; x = x.parent {
		if x.queued == 0 && x.parent != nil {
			x.parent.activate(x)
		}
		x.queued++
		x.bytes += len(encoded)
	}
}

// activate puts a flow that has commands now into the list that its credit gives it a place in.
func (f *flow) activate(x *flow) {
	f.active++
	if x.credit > 0 {
		f.fresh.push(x)
	} else {
		f.stale.push(x)
	}
}

// share is what each flow may have of a batch.
type share struct {
	scale int // by how much more than its quantum the credit of a flow is replenished
	large int // how many bytes of clients' large commands there may be; one is taken where there may be any
}

// take appends the commands of the next batch: at least one, unless only large ones wait and there may be none.
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
			fl.batch++ // all are in debt: credit for each once more
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

// takeOwn appends what the next batch has of the host itself.
func (fl *flows) takeOwn(ops []Op, data []byte) ([]Op, []byte) {
	f := fl.host
	for cost := 0; f.queued > 0; {
		o := f.ops[f.opsAt]
		if cost > 0 && cost+o.cost() > hostPerBatch {
			break
		}
		cost += o.cost()
		ops, data = append(ops, o), append(data, f.data[f.dataAt:f.dataAt+int(o.size)]...)
		f.drop(int(o.size))
		f.queued--
		f.bytes -= int(o.size)
		if f.queued == 0 {
			fl.release(f)
		}
	}
	return ops, data
}

// pick returns the flow of the source that is served next, of those below; nil where all have had their share of the
// batch.
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

// pickBelow returns the flow that is served next among those right below. It is the head of its list.
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

// pop removes the first command, of so many bytes, from the flow that was picked.
func (fl *flows) pop(f *flow, n int) {
	f.drop(n)
	for x := f; x != &fl.root; x = x.parent {
		if !x.alone() {
			x.credit -= n + commandCost
		}
		x.queued--
		x.bytes -= n
	}
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

// allocate gives a flow memory, release takes it from one that was emptied. Much of it is left to the garbage
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
