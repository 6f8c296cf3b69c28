package watch

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// objectStage is an object's position on its way to the worker. An object is in one stage at a time.
type objectStage uint8

const (
	objectQuiet   objectStage = iota // nothing to send
	objectResting                    // in Hub.resting
	objectReady                      // in Hub.ready
	objectPlanned                    // the worker is planning the object
)

// object is a watched name, whether or not an object with this name exists. Changes are recorded by object, and read
// by topic: the semaphore with this name is a topic, and so is every view of another kind.
type object struct {
	name shard.ObjectName

	// Hub.mu guards the fields below.
	stage    objectStage
	rests    int               // index in Hub.resting
	next     time.Time         // earliest time for the next send
	flags    shard.EffectFlags // changes since the worker last took the object
	interest shard.EffectFlags // changes its watches should get
	replaced bool              // the machine's state was replaced since the worker last took the object

	// Only the worker uses the fields below.
	taken     shard.EffectFlags
	count     int // watches on all its topics
	semaphore topic
	views     map[part]*topic // of other kinds; nil if no view was watched
}

// restOrder orders objects by the end of their rest.
type restOrder struct{}

func (restOrder) Before(a, b *object) bool { return a.next.Before(b.next) }
func (restOrder) Placed(x *object, at int) { x.rests = at }

// part distinguishes the topics that share one name.
type part struct {
	kind shard.ObjectKind
	view string
}

// topic is the unit for reading and sending under one name: the semaphore, or a view of another kind's object.
//
// Only the worker uses a topic.
type topic struct {
	object  *object
	part    part
	form    form
	watches [wantKinds][]*watch
	count   int
	visited bool
	latest  *change // the most recently read change
	changes map[shard.Revision]*change
	// The snapshots being sent: the newest, which is kept briefly, and its predecessor. There are no more, however
	// many watches read however slowly.
	snapshot, older *snapshot
	// The fields below are for views. seen is the shard revision at which every watch was up to date or in a list to
	// be planned; 0: unknown. missed means that a watch could not be brought up to date, and waits for the next
	// change.
	seen   shard.Revision
	missed bool
}

func (t *topic) ref() shard.Ref {
	return shard.Ref{Kind: t.part.kind, Node: t.object.name.Node, Name: t.object.name.Name, View: t.part.view}
}

// refOf returns the object and view that a request names. Nothing from the request is retained.
func refOf(m *protocol.Watch) shard.Ref {
	r := shard.Ref{
		Kind: shard.ObjectKind(m.ObjectKind), Node: shard.NodeID(m.NodeID), Name: string(m.Name), View: string(m.View),
	}
	if m.ObjectKind.IsSemaphore() {
		r.Kind = shard.KindSemaphore
	}
	return r
}

// topicOf returns a part's topic, and creates one if missing yet.
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

// all calls f for every topic that has watches.
func (o *object) all(f func(*topic)) {
	if o.semaphore.count > 0 {
		f(&o.semaphore)
	}
	for _, t := range o.views {
		f(t)
	}
}

// forget discards what earlier machine reads have shown.
func (o *object) forget() {
	for _, t := range o.views {
		t.seen = 0
	}
}

// isView reports whether the topic is a view, not a semaphore.
func (t *topic) isView() bool { return t.part.kind != shard.KindSemaphore }

// add adds a watch and reports whether the object's interests may have grown.
func (t *topic) add(w *watch) bool {
	list := &t.watches[w.wants]
	*list = append(*list, w)
	w.topic, w.place = t, len(*list)
	t.count++
	t.object.count++
	return len(*list) == 1
}

// remove removes a watch and reports whether the object's interests may have shrunk.
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

// interests returns the flags of all changes the watches should get. In an object other than a semaphore, a change
// may be in every view, so all changes count and the worker checks every topic.
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
