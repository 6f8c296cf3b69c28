package shard

import "slices"

// WatchSet holds a host's one-shot watches on a shard: a session is notified once when a semaphore's data or owners
// change. Watches are not part of the replicated state; a client that loses its connection treats its watches as fired.
//
// A session has at most one watch on a semaphore. T is the caller's token for a watch. A WatchSet is not safe for
// concurrent use.
type WatchSet[T any] struct {
	objects  map[ObjectName][]*watch[T]
	sessions map[SessionID]map[ObjectName]*watch[T]
	ended    []*watch[T]
	count    int
}

type watch[T any] struct {
	session      SessionID
	object       ObjectName
	place        int // index in the object's list
	data, owners bool
	token        T
}

// NewWatchSet returns an empty set.
func NewWatchSet[T any]() *WatchSet[T] {
	return &WatchSet[T]{
		objects:  make(map[ObjectName][]*watch[T]),
		sessions: make(map[SessionID]map[ObjectName]*watch[T]),
	}
}

// Len returns the number of watches.
func (w *WatchSet[T]) Len() int { return w.count }

// Add adds a session's watch under the caller's token, and replaces the session's older watch on the semaphore, if any.
// The caller must first notify the owner of the replaced token with (false, false).
func (w *WatchSet[T]) Add(session SessionID, n NodeID, name string, data, owners bool, token T) (replaced T, was bool) {
	at := ObjectName{Node: n, Name: name}
	if old := w.sessions[session][at]; old != nil {
		w.unlist(old)
		w.forget(old)
		replaced, was = old.token, true
	}
	of := w.sessions[session]
	if of == nil {
		of = make(map[ObjectName]*watch[T])
		w.sessions[session] = of
	}
	list := w.objects[at]
	now := &watch[T]{
		session: session, object: at, place: len(list), data: data, owners: owners, token: token,
	}
	of[at] = now
	w.objects[at] = append(list, now)
	w.count++
	return replaced, was
}

// Apply looks through a batch's effects and calls fire for every watch an effect ends.
func (w *WatchSet[T]) Apply(effects []Effect, fire func(token T, data, owners bool)) {
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

func (w *WatchSet[T]) changed(e *Effect, fire func(token T, data, owners bool)) {
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

// DropSession discards a session's watches without firing them.
func (w *WatchSet[T]) DropSession(session SessionID) {
	w.DropWhere(session, func(T) bool { return true })
}

// DropWhere discards, without firing, a session's watches for whose tokens gone returns true.
func (w *WatchSet[T]) DropWhere(session SessionID, gone func(token T) bool) {
	for _, x := range w.sessions[session] {
		if gone(x.token) {
			w.unlist(x)
			w.forget(x)
		}
	}
}

// DropAll discards all watches and calls fire for each, in no particular order, because changes may have been missed.
func (w *WatchSet[T]) DropAll(fire func(token T)) {
	for _, list := range w.objects {
		for _, x := range list {
			fire(x.token)
		}
	}
	*w = *NewWatchSet[T]()
}

// DropObjects is DropAll for the objects for which stays returns false.
func (w *WatchSet[T]) DropObjects(stays func(ObjectName) bool, fire func(token T)) {
	for of, list := range w.objects {
		if stays(of) {
			continue
		}
		for _, x := range slices.Clone(list) {
			w.unlist(x)
			w.forget(x)
			fire(x.token)
		}
	}
}

// unlist removes a watch from the object's list.
func (w *WatchSet[T]) unlist(x *watch[T]) {
	list := w.objects[x.object]
	last := list[len(list)-1]
	list[x.place], last.place = last, x.place
	list[len(list)-1] = nil
	w.list(x.object, list[:len(list)-1])
}

func (w *WatchSet[T]) list(at ObjectName, list []*watch[T]) {
	if len(list) == 0 {
		delete(w.objects, at)
		return
	}
	w.objects[at] = list
}

// forget removes a watch from the session's map.
func (w *WatchSet[T]) forget(x *watch[T]) {
	w.count--
	of := w.sessions[x.session]
	delete(of, x.object)
	if len(of) == 0 {
		delete(w.sessions, x.session)
	}
}
