package pipeline

// flow is what waits in a shard's queue for one principal: a token, an address of a token, or a source of an address.
// Flows of sources hold the commands; the others share a batch out among those below them. It is guarded by the lock of
// its pipeline.
type flow struct {
	parent  *flow
	key     string
	below   map[string]*flow // by token, or by address; nil where the flow holds commands
	members int              // how many sources are in it
	quantum int              // what one replenishment of its credit is
	closed  bool             // its source has gone: it is removed when it is empty

	// The order of service. A flow with commands is in one list of its parent: fresh where it has credit left from
	// before it got commands, stale otherwise.
	credit       int
	fresh, stale flowList // those below that have commands
	active       int      // how many are in the two
	next         *flow
	replenished  uint64 // the batch in which its credit was replenished
	done         uint64 // the batch that it has had its share of

	// What waits, in the flow or below.
	queued, bytes int

	// The commands of a source in the order in which they came, and how they are encoded.
	ops    []Op
	opsAt  int
	data   []byte
	dataAt int

	// What came while the queue was not shared out.
	epoch   uint64
	pending int   // the cost of what came since the latest batch
	heavyAt int64 // when it last had much waiting
	light   int   // for how many batches it has had little, one after the other
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

// first returns the flow below that is served next, and the list that it is the head of.
func (f *flow) first() (*flow, *flowList) {
	if f.fresh.head != nil {
		return f.fresh.head, &f.fresh
	}
	return f.stale.head, &f.stale
}

// holds returns whether commands are in the flow itself.
func (f *flow) holds() bool { return f.below == nil }

// alone returns whether no other flow of its level has commands. That of a source never counts as alone: the
// next command may be of another.
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

// appendAt appends to a queue that begins at a place of its slice, and uses the room before that again where it is
// most of the slice.
func appendAt[T any](s []T, at int, x ...T) ([]T, int) {
	if at > len(s)/2 && len(s)+len(x) > cap(s) {
		n := copy(s, s[at:])
		clear(s[n:])
		s, at = s[:n], 0
	}
	return append(s, x...), at
}
