package pipeline

// flow is the waiting commands of one principal in a shard's queue: of a token, of an address of a token, or of a
// source of an address. Flows of sources hold the commands; other flows share a batch out among the flows below them.
// The lock of the pipeline guards a flow.
type flow struct {
	parent  *flow
	key     string
	below   map[string]*flow // by token, or by address; nil if the flow holds commands
	members int              // how many sources are in the flow
	quantum int              // the amount of one replenishment of the credit
	closed  bool             // the source has gone: the flow is removed when it is empty

	// The order of service. A flow with commands is in one list of its parent: fresh if the flow had credit left when
	// its commands came, stale otherwise.
	credit       int
	fresh, stale flowList // flows below with commands
	active       int      // how many flows are in fresh and stale
	next         *flow
	replenished  uint64 // the batch in which the credit was replenished
	done         uint64 // the batch of which the flow has had its share

	// The commands that wait in the flow or below.
	queued, bytes int

	// The commands of a source in the order of their arrival, and their encoded bytes.
	ops    []Op
	opsAt  int
	data   []byte
	dataAt int

	// The commands that came while the queue was not shared out.
	epoch   uint64
	pending int   // the cost of the commands since the latest batch
	heavyAt int64 // when the flow last had much waiting
	light   int   // for how many batches in succession the flow has had little
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

// holds returns whether commands are in the flow itself.
func (f *flow) holds() bool { return f.below == nil }

// alone returns whether no other flow of its level has commands. The flow of a source never counts as alone: the next
// command may be from another source.
func (f *flow) alone() bool { return !f.holds() && f.parent.active == 1 }

// token returns the flow of the token that a source's flow belongs to.
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

// drop removes the first command, of so many bytes.
func (f *flow) drop(n int) {
	f.ops[f.opsAt] = Op{}
	f.opsAt++
	f.dataAt += n
}

// appendAt appends to a queue that begins at a place of its slice. If the room before the place is most of the slice,
// appendAt uses the room again.
func appendAt[T any](s []T, at int, x ...T) ([]T, int) {
	if at > len(s)/2 && len(s)+len(x) > cap(s) {
		n := copy(s, s[at:])
		clear(s[n:])
		s, at = s[:n], 0
	}
	return append(s, x...), at
}
