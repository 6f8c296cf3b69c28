package pipeline

// flow contains one principal's waiting commands in a shard's queue: the principal is a token, an address with a
// token, or a source at an address. Source flows hold the commands; other flows divide a batch among the flows below.
// The pipeline's lock guards a flow.
type flow struct {
	parent  *flow
	key     string
	below   map[string]*flow // by token, or by address; nil if the flow holds commands
	members int              // number of sources in the flow
	quantum int              // credit added per replenishment
	closed  bool             // the source has closed: the flow is removed when it is empty

	// Service order. A flow with commands is in one of its parent's lists: fresh if the flow had credit left when its
	// commands arrived, otherwise stale.
	credit       int
	fresh, stale flowList // flows below with commands
	active       int      // number of flows in fresh and stale
	next         *flow
	replenished  uint64 // the batch in which the credit was last replenished
	done         uint64 // the batch in which the flow has used up its share

	// The commands that wait in the flow or below.
	queued, bytes int

	// A source's commands in arrival order, and their encoded bytes.
	ops    []Op
	opsAt  int
	data   []byte
	dataAt int

	// Commands that arrived while the queue was not divided.
	epoch   uint64
	pending int   // total command cost since the latest batch
	heavyAt int64 // when the flow last had much waiting
	light   int   // number of consecutive batches in which the flow had little
}

// flowList is a queue of flows.
type flowList struct{ head, tail *flow }

func (l *flowList) push(f *flow) {
	f.next = nil
	if l.tail == nil {
		l.head = f
	} else {
		l.tail.next = f
	}
	l.tail = f
}

func (l *flowList) pop() *flow {
	f := l.head
	if l.head = f.next; l.head == nil {
		l.tail = nil
	}
	f.next = nil
	return f
}

// first returns the flow below that is served next, and the list with this flow at its head.
func (f *flow) first() (*flow, *flowList) {
	if f.fresh.head != nil {
		return f.fresh.head, &f.fresh
	}
	return f.stale.head, &f.stale
}

// holds returns whether the flow itself holds commands.
func (f *flow) holds() bool { return f.below == nil }

// alone returns whether no other flow at its level has commands. A source flow never counts as alone: the next
// command may be from another source.
func (f *flow) alone() bool { return !f.holds() && f.parent.active == 1 }

// token returns the token flow above a source flow.
func (f *flow) token() *flow {
	for f.parent.parent != nil {
		f = f.parent
	}
	return f
}

// put appends an encoded command.
func (f *flow) put(o Op, encoded []byte) {
	f.ops, f.opsAt = appendAt(f.ops, f.opsAt, o)
	f.data, f.dataAt = appendAt(f.data, f.dataAt, encoded...)
}

// drop removes the first command, which has n bytes.
func (f *flow) drop(n int) {
	f.ops[f.opsAt] = Op{}
	f.opsAt++
	f.dataAt += n
}

// appendAt appends to a queue that begins at an offset in its slice. If most of the slice is free space before the
// offset, appendAt reuses that space.
func appendAt[T any](s []T, at int, x ...T) ([]T, int) {
	if at > len(s)/2 && len(s)+len(x) > cap(s) {
		n := copy(s, s[at:])
		clear(s[n:])
		s, at = s[:n], 0
	}
	return append(s, x...), at
}
