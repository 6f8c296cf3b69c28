package machine

import (
	"bytes"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
)

// Object is the part that named objects of every kind share.
type Object struct {
	track

	node arena.Handle // its node's entry in the store's list
	name arena.Text

	holdings    arena.Handle // root of its holdings by order id
	lastHolding arena.Handle
	FirstWaiter arena.Handle // zero without a waiting session
	Held        uint32

	State arena.Handle // in its kind's store
	stamp uint32
	hash  uint32 // the upper half of its name hash
	alarm uint32 // heap position of its alarm, plus one; zero without an alarm
	slot  shard.Slot
	Kind  shard.ObjectKind
	// deleting is set if the object is deleted, and some of its holdings are pending. pending is set while the object
	// is on the pending list.
	Deleting, Pending bool
	// indexed is set if the holdings are in the holding index, because there were once too many to scan.
	indexed bool
}

// Objects finds objects by name.
type Objects struct {
	core *Core
	arena.Slab[Object]
	nodes  arena.Slab[*Node] // the objects' nodes
	names  arena.Texts
	slots  []arena.Table
	byName arena.Forest
	ofKind [shard.MaxKinds]int // object count per kind
}

func newObjects() Objects {
	return Objects{names: arena.NewTexts(), slots: make([]arena.Table, shard.Slots)}
}

// View returns the view that covers a whole object.
func (ob *Objects) View(h arena.Handle) View { return View{track: &ob.At(h).track} }

// find returns the object with the name, or zero.
func (ob *Objects) find(hash uint64, n shard.NodeID, name []byte) arena.Handle {
	t, upper := &ob.slots[hash%shard.Slots], uint32(hash>>32)
	h, at := t.First(upper)
	for ; h != 0; h, at = t.Next(upper, at) {
		if o := ob.At(h); ob.Node(o).ID == n && ob.names.Is(o.name, name) {
			break
		}
	}
	return h
}

// Alive returns the object with the name, if the object has the kind and is not deleted; otherwise zero.
func (ob *Objects) Alive(k shard.ObjectKind, n shard.NodeID, name []byte) arena.Handle {
	h := ob.find(shard.ObjectHash(n, name), n, name)
	if h == 0 {
		return 0
	}
	if o := ob.At(h); o.Kind != k || o.Deleting {
		return 0
	}
	return h
}

// Before sorts a node's objects by name.
func (ob *Objects) Before(a, b arena.Handle) bool {
	return bytes.Compare(ob.names.Bytes(ob.At(a).name), ob.names.Bytes(ob.At(b).name)) < 0
}

// Name returns an object's Name for readers.
func (ob *Objects) Name(o *Object) string { return ob.names.String(o.name) }

// Node returns an object's node.
func (ob *Objects) Node(o *Object) *Node { return *ob.nodes.At(o.node) }

// stands reports whether object a sorts before object b, by node, then by name.
func (ob *Objects) stands(a, b arena.Handle) bool {
	x, y := ob.At(a), ob.At(b)
	if x.node != y.node {
		return ob.Node(x).ID < ob.Node(y).ID
	}
	return ob.Before(a, b)
}

// Add creates an object with the target's name. The caller fills in the kind's state and reports the creation.
func (ob *Objects) Add(k shard.ObjectKind, t *Target, id shard.NodeID, name []byte,
	body arena.Handle) arena.Handle {
	if t.Node == nil {
		t.Node = ob.core.Nodes.see(id)
	}
	h := ob.Alloc()
	o := ob.At(h)
	o.node, o.name, o.Kind, o.State = t.Node.handle, ob.names.Keep(name), k, body
	o.slot, o.hash, o.stamp = t.slot, uint32(t.hash>>32), ob.core.Snapshots.epoch
	ob.slots[o.slot].Insert(o.hash, h)
	ob.byName.Insert(&t.Node.names, h, ob)
	t.Node.objects++
	ob.ofKind[k]++
	ob.core.Nodes.Charge(t.Node, ob.size(o))
	return h
}

// Remove deletes an object that has no holdings.
func (ob *Objects) Remove(h arena.Handle) {
	ob.core.Snapshots.TouchObject(h)
	o := ob.At(h)
	assert.That(o.Held == 0, "an object goes with its links")
	if o.Pending {
		ob.core.Pending.remove(pendingWork{object: h})
	}
	ob.core.Run.Left--
	ob.SetAlarm(h, 0)
	n, kind := ob.Node(o), o.Kind
	ob.core.Nodes.Charge(n, -ob.size(o))
	ob.core.kinds[o.Kind].FreeState(o.State)
	ob.slots[o.slot].Remove(o.hash, h)
	ob.byName.Remove(&n.names, h)
	ob.names.Free(o.name)
	ob.Release(h)
	n.objects--
	ob.ofKind[kind]--
	ob.core.Nodes.forgetIfEmpty(n)
}

// Changed gives the object the next revision and notifies its watchers.
func (ob *Objects) Changed(h arena.Handle, flags shard.EffectFlags) {
	ob.core.Snapshots.TouchObject(h)
	ob.core.lastRevision++
	o := ob.At(h)
	o.Revision = ob.core.lastRevision
	if flags&shard.FlagCreated != 0 {
		o.base = o.Revision
	}
	e := ob.core.Run.Emit(shard.EffectChanged)
	e.Object, e.Flags, e.Node, e.Revision = o.Kind, flags, ob.Node(o).ID, o.Revision
	e.Name = ob.core.Run.speller.Spell(ob.names.Bytes(o.name))
}
