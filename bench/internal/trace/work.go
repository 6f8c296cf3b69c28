package trace

import "slices"

// Hop is an operation's section from the previous point, or the begin, to a point.
type Hop struct {
	To   Point
	What string
	// Any ends the hop at the first stamp, if several hosts stamp the point.
	Any bool
}

// Work is a traced operation.
type Work struct {
	Name string
	// Callers is the number of callers.
	Callers int
	// log is set if the work goes through the log; operations names the work's operations.
	log        bool
	operations []string
	// The first and last hop, and the event loop's hop for work without the log.
	begin, end, handle string
}

// One caller's first and last client hop.
const (
	request = "client: make the request"
	answer  = "client: decode the answer, return"
)

var works = []Work{
	{Name: "lock", Callers: 1, log: true, operations: []string{"acquire", "release"},
		begin: request, end: answer},
	{Name: "handoff", Callers: 32, log: true, operations: []string{"hand-off"},
		begin: "client: the owner makes its release", end: "client: decode the answers, the next owner wakes"},
	{Name: "read", Callers: 1, operations: []string{"relaxed read"},
		begin: request, handle: "event loop: decode, find, encode what is asked for", end: answer},
	{Name: "echo", Callers: 1, operations: []string{"echo"},
		begin: request, handle: "event loop: decode, encode", end: answer},
}

// Works returns the names of all works.
func Works() (names []string) {
	for _, w := range works {
		names = append(names, w.Name)
	}
	return names
}

// WorkOf returns the work with a name, or false.
func WorkOf(name string) (Work, bool) {
	i := slices.IndexFunc(works, func(w Work) bool { return w.Name == name })
	if i < 0 {
		return Work{}, false
	}
	return works[i], true
}

// hops returns the work's hops on one host, or with several hosts.
func (w Work) hops(among bool) []Hop {
	hops := []Hop{{To: Sending, What: w.begin}, {To: Arrived, What: "socket, and the event loop wakes"}}
	switch {
	case !w.log:
		hops = append(hops, Hop{To: Answered, What: w.handle})
	case among:
		hops = append(hops, Hop{To: Proposed, What: "event loop and queue: decode, check, make a batch"},
			Hop{To: OthersWriting, What: "engine: Raft steps on two hosts, and a message between them", Any: true},
			Hop{To: OthersSynced, What: "store of another host: write and sync", Any: true},
			Hop{To: Applying, What: "engine: a message back, committed, the applying goroutine wakes"})
	default:
		hops = append(hops, Hop{To: Proposed, What: "event loop and queue: decode, check, make a batch"},
			Hop{To: Writing, What: "engine: the proposal wakes a worker, which steps Raft"},
			Hop{To: Synced, What: "store: write and sync"},
			Hop{To: Applying, What: "engine: committed, the applying goroutine wakes"})
	}
	if w.log {
		hops = append(hops, Hop{To: Answered, What: "apply, and encode the answer"})
	}
	return append(hops, Hop{To: Flushing, What: "the batch is done, its connections are written to"},
		Hop{To: Read, What: "socket, and the client wakes"}, Hop{To: Returned, What: w.end})
}
