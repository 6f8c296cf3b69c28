package hub

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// objectStage says where an object is on its way to the worker. It is taken to the worker by one way at a
// time.
type objectStage uint8

const (
	objectQuiet   objectStage = iota // nothing is to be sent
	objectResting                    // in Hub.resting
	objectReady                      // in Hub.ready
	objectPlanned                    // the worker is at it
)

// object is a name that is watched, whether there is an object of that name or not. Changes are noted of an object, and
// read of its topics: that of the semaphore of the name, and those of views of other kinds.
type object struct {
	name shard.ObjectName

	// Guarded by Hub.mu.
	stage    objectStage
	rests    int               // place in Hub.resting
	next     time.Time         // not to be sent again before
	flags    shard.EffectFlags // of what changed since the worker took the object last
	interest shard.EffectFlags // what any of its watches is to get
	replaced bool              // the machine's state was, since the worker took the object last

	// The worker's own.
	taken     shard.EffectFlags
	count     int // watches of all its topics
	semaphore topic
	views     map[part]*topic // of other kinds; nil where none was watched
}

// part is that by which the topics of one name differ.
type part struct {
	kind shard.ObjectKind
	view string
}

// topic is what can be watched under one name: its semaphore, or a view of an object of another kind.
//
// All of it is the worker's own.
type topic struct {
	object  *object
	part    part
	form    form
	watches [wantKinds][]*watch
	count   int
	visited bool
	latest  *change // the one of changes that was asked for last
	changes map[shard.Revision]*change
	// Snapshots that are being sent: the newest, which is kept for a moment, and the one before it. There
	// are no more, however many watches read however slowly.
	snapshot, older *snapshot
	// Of views. seen: all watches have what there was at this revision, or are in a list of those that will get it; 0:
	// that is not known. missed: a watch could not be brought to the present, and waits for the next change.
	seen   shard.Revision
	missed bool
}

func (t *topic) ref() shard.Ref {
	return shard.Ref{Kind: t.part.kind, Node: t.object.name.Node, Name: t.object.name.Name, View: t.part.view}
}

// refOf returns what a request names. Nothing of the request is kept.
func refOf(m *protocol.Watch) shard.Ref {
	r := shard.Ref{
		Kind: shard.ObjectKind(m.ObjectKind), Node: shard.NodeID(m.NodeID), Name: string(m.Name), View: string(m.View),
	}
	if m.ObjectKind.IsSemaphore() {
		r.Kind = shard.KindSemaphore
	}
	return r
}

// topicOf returns the topic of a part, made where there is none yet.
func (o *object) topicOf(p part, wo *worker) *topic {
	if p.kind == shard.KindSemaphore {
		o.semaphore.object, o.semaphore.part, o.semaphore.form = o, p, &wo.owners
		return &o.semaphore
	}
	t := o.views[p]
	if t == nil {
		if o.views == nil {
			o.views = make(map[part]*topic)
		}
		t = &topic{object: o, part: p, form: &wo.rows}
		o.views[p] = t
	}
	return t
}

// all calls back for every topic that has watches.
func (o *object) all(f func(*topic)) {
	if o.semaphore.count > 0 {
		f(&o.semaphore)
	}
	for _, t := range o.views {
		f(t)
	}
}

// forget forgets what earlier reads of the machine have shown.
func (o *object) forget() {
	for _, t := range o.views {
		t.seen = 0
	}
}

// isView reports whether the topic is a view of an object of another kind than semaphores.
func (t *topic) isView() bool { return t.part.kind != shard.KindSemaphore }

// add puts a watch in and reports whether the object's interest may have grown.
func (t *topic) add(w *watch) bool {
	list := &t.watches[w.wants]
	*list = append(*list, w)
	w.topic, w.place = t, len(*list)
	t.count++
	t.object.count++
	return len(*list) == 1
}

// remove takes a watch out and reports whether the object's interest may have shrunk.
func (t *topic) remove(w *watch) bool {
	list := t.watches[w.wants]
	last := len(list) - 1
	moved := list[last]
	list[w.place-1], moved.place = moved, w.place
	list[last] = nil
	t.watches[w.wants] = list[:last]
	w.place = 0
	t.count--
	t.object.count--
	if t.count == 0 && t.isView() {
		delete(t.object.views, t.part)
	}
	return last == 0
}

// interests returns what the watches are to get, all together. Of other kinds than semaphores every change may be of
// any view: its topic is asked.
func (o *object) interests() shard.EffectFlags {
	if len(o.views) > 0 {
		return everything
	}
	var f shard.EffectFlags
	for w, list := range o.semaphore.watches {
		if len(list) > 0 {
			f |= wants(w).flags()
		}
	}
	return f
}
