package shard

// Watches are the one-shot watches of one host on one shard: a session is told once that the data or
// the owners of a semaphore changed. They are no part of the replicated state; a client whose
// connection goes takes them for fired.
//
// A session has at most one watch on a semaphore. Not safe for concurrent use.
type Watches struct {
	objects  map[ObjectName][]*watch
	sessions map[SessionID]map[ObjectName]*watch
	ended    []*watch
	count    int
}

type watch struct {
	session      SessionID
	object       ObjectName
	place        int // in the list of its object
	data, owners bool
	token        uint64
}

// NewWatches returns an empty set.
func NewWatches() *Watches {
	return &Watches{
		objects:  make(map[ObjectName][]*watch),
		sessions: make(map[SessionID]map[ObjectName]*watch),
	}
}

// Len returns how many watches there are.
func (w *Watches) Len() int { return w.count }

// Add puts a watch of a session in, under the token of the caller. The session's watch on the same
// semaphore that it replaces, if there was one, is to be told (false, false) before anything else.
func (w *Watches) Add(session SessionID, n NodeID, name string, data, owners bool, token uint64) (replaced uint64, was bool) {
	at := ObjectName{Node: n, Name: name}
	if old := w.sessions[session][at]; old != nil {
		w.unlist(old)
		w.forget(old)
		replaced, was = old.token, true
	}
	of := w.sessions[session]
	if of == nil {
		of = make(map[ObjectName]*watch)
		w.sessions[session] = of
	}
	list := w.objects[at]
	now := &watch{
		session: session, object: at, place: len(list), data: data, owners: owners, token: token,
	}
	of[at] = now
	w.objects[at] = append(list, now)
	w.count++
	return replaced, was
}

// Apply takes the effects of a batch in and calls fire for every watch that they end.
func (w *Watches) Apply(effects []Effect, fire func(token uint64, data, owners bool)) {
	if w.count == 0 {
		return
	}
	for i := range effects {
		switch e := &effects[i]; e.Kind {
		case EffectSessionEnded:
			w.DropSession(e.Session)
		case EffectChanged:
			w.changed(e, fire)
		}
	}
}

func (w *Watches) changed(e *Effect, fire func(token uint64, data, owners bool)) {
	at := ObjectName{Node: e.Node, Name: e.Name}
	list := w.objects[at]
	if len(list) == 0 {
		return
	}
	deleted := e.Flags&FlagDeleted != 0
	data, owners := e.Flags&FlagData != 0, e.Flags&FlagOwners != 0
	w.ended = w.ended[:0]
	kept := list[:0]
	for _, x := range list {
		if deleted || x.data && data || x.owners && owners {
			w.ended = append(w.ended, x)
			continue
		}
		x.place = len(kept)
		kept = append(kept, x)
	}
	clear(list[len(kept):])
	w.list(at, kept)
	for _, x := range w.ended {
		w.forget(x)
		fire(x.token, data, owners)
	}
	clear(w.ended)
}

// DropSession forgets the watches of a session without a word.
func (w *Watches) DropSession(session SessionID) {
	for _, x := range w.sessions[session] {
		w.unlist(x)
		w.forget(x)
	}
}

// unlist takes a watch out of its object's list.
func (w *Watches) unlist(x *watch) {
	list := w.objects[x.object]
	last := list[len(list)-1]
	list[x.place], last.place = last, x.place
	list[len(list)-1] = nil
	w.list(x.object, list[:len(list)-1])
}

func (w *Watches) list(at ObjectName, list []*watch) {
	if len(list) == 0 {
		delete(w.objects, at)
		return
	}
	w.objects[at] = list
}

// forget takes a watch out of its session's.
func (w *Watches) forget(x *watch) {
	w.count--
	of := w.sessions[x.session]
	delete(of, x.object)
	if len(of) == 0 {
		delete(w.sessions, x.session)
	}
}
