package history

import (
	"cmp"
	"maps"
	"slices"
)

// processRecord is a Recorder's data about processes, guarded by the Recorder's lock.
type processRecord struct {
	calls     map[entryKey]ProcessCall
	exchanges map[entryKey]Exchange
	changes   map[entryKey]ProcessChange
	parts     map[partKey]ProcessPart
	finals    []ProcessFinal
}

// partKey identifies a client's member.
type partKey struct {
	memberKey
	client int
}

func newProcessRecord() processRecord {
	return processRecord{
		calls: make(map[entryKey]ProcessCall), exchanges: make(map[entryKey]Exchange),
		changes: make(map[entryKey]ProcessChange), parts: make(map[partKey]ProcessPart),
	}
}

// add records an entry, and reports whether the entry concerns a process.
func (r *processRecord) add(k entryKey, e *Entry) bool {
	switch {
	case e.Call != nil:
		e.Call.Client = e.Client
		r.calls[k] = *e.Call
	case e.Exchange != nil:
		e.Exchange.Client = e.Client
		r.exchanges[k] = *e.Exchange
	case e.Change != nil:
		r.changes[k] = *e.Change
	case e.Part != nil:
		key := partKey{memberKey{e.Part.Process, e.Part.Member}, e.Client}
		if r.parts[key] = *e.Part; e.Part.Over {
			delete(r.parts, key)
		}
	default:
		return false
	}
	return true
}

// clientDied ends a client's beliefs.
func (r *processRecord) clientDied(client int) {
	for k := range r.parts {
		if k.client == client {
			delete(r.parts, k)
		}
	}
}

// addTo adds the records to a history, in order.
func (r *processRecord) addTo(h *History, now Time) {
	for _, c := range r.calls {
		h.Calls = append(h.Calls, c)
	}
	slices.SortFunc(h.Calls, func(a, b ProcessCall) int { return cmp.Compare(a.Began, b.Began) })
	for _, x := range r.exchanges {
		if x.Outcome == "" {
			x.Outcome, x.Error, x.Returned = Unknown, neverReported, now
		}
		h.Exchanges = append(h.Exchanges, x)
	}
	slices.SortFunc(h.Exchanges, func(a, b Exchange) int { return cmp.Compare(a.Called, b.Called) })
	for _, c := range r.changes {
		if c.Outcome == "" {
			c.Outcome, c.Error, c.Returned = Unknown, neverReported, now
		}
		h.Changes = append(h.Changes, c)
	}
	slices.SortFunc(h.Changes, func(a, b ProcessChange) int { return cmp.Compare(a.Called, b.Called) })
	h.Processes = r.finals
}

// Change records a change made by the test itself, returned just now. Called must be set.
func (r *Recorder) Change(c ProcessChange) {
	c.Returned = r.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastOwn++
	r.processes.changes[entryKey{own, r.lastOwn}] = c
}

// Process records a process's final state, with the members that clients believe in now. It replaces an earlier record
// for the process.
func (r *Recorder) Process(f ProcessFinal) {
	f.At = r.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, p := range r.processes.parts {
		if k.process == f.Process {
			f.Parts = append(f.Parts, p)
		}
	}
	slices.SortFunc(f.Parts, func(a, b ProcessPart) int { return cmp.Compare(a.Member, b.Member) })
	same := func(x ProcessFinal) bool { return x.Process == f.Process }
	r.processes.finals = slices.DeleteFunc(r.processes.finals, same)
	r.processes.finals = append(r.processes.finals, f)
}

// Unfinished returns differences between a process's last recorded state and the required final state.
func (r *Recorder) Unfinished(of Process) (found findings) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := &History{Sessions: slices.Collect(maps.Values(r.sessions))}
	for _, c := range r.processes.calls {
		if c.Process == of {
			h.Calls = append(h.Calls, c)
		}
	}
	for _, f := range r.processes.finals {
		if f.Process == of {
			h.Processes = append(h.Processes, f)
		}
	}
	return Rounds(h)
}
