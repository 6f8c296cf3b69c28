package machine

import (
	"bytes"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
)

// object is the common part of named things of every kind.
type object struct {
	track

	node arena.Handle // the place of its node in the store's list
	name arena.Text

	links       arena.Handle // root of its links by order id
	lastLink    arena.Handle
	firstWaiter arena.Handle // zero without a waiting session
	linkCount   uint32

	body  arena.Handle // in the store of its kind
	stamp uint32
	hash  uint32 // the upper half of its hash
	slot  shard.Slot
	kind  shard.ObjectKind
	// deleting: the object is deleted, and some of its links are pending. pending: the object is on the pending list.
	deleting, pending bool
	// indexed: the links are in the links' index, because they were once too many to walk.
	indexed bool
}

// objectStore finds objects by name.
type objectStore struct {
	arena.Slab[object]
	nodes  arena.Slab[*node] // of the objects
	names  arena.Texts
	slots  []arena.Table
	byName arena.Forest
}

func newObjectStore() objectStore {
	return objectStore{names: arena.NewTexts(), slots: make([]arena.Table, shard.Slots)}
}

// find returns the object of the name, or zero.
func (st *objectStore) find(hash uint64, n shard.NodeID, name []byte) arena.Handle {
	t, upper := &st.slots[hash%shard.Slots], uint32(hash>>32)
	h, at := t.First(upper)
	for ; h != 0; h, at = t.Next(upper, at) {
		if o := st.At(h); st.node(o).id == n && st.names.Is(o.name, name) {
			break
		}
	}
	return h
}

// alive returns the object of the name if the object is of the kind and not deleted, else zero.
func (st *objectStore) alive(k shard.ObjectKind, n shard.NodeID, name []byte) arena.Handle {
	h := st.find(shard.ObjectHash(n, name), n, name)
	if h == 0 {
		return 0
	}
	if o := st.At(h); o.kind != k || o.deleting {
		return 0
	}
	return h
}

// Before orders the objects of a node by name.
func (st *objectStore) Before(a, b arena.Handle) bool {
	return bytes.Compare(st.names.Bytes(st.At(a).name), st.names.Bytes(st.At(b).name)) < 0
}

// name returns the name of an object for readers.
func (st *objectStore) name(o *object) string { return st.names.String(o.name) }

func (st *objectStore) node(o *object) *node { return *st.nodes.At(o.node) }

// stands reports whether an object stands before a second object in the order of nodes and names.
func (st *objectStore) stands(a, b arena.Handle) bool {
	x, y := st.At(a), st.At(b)
	if x.node != y.node {
		return st.node(x).id < st.node(y).id
	}
	return st.Before(a, b)
}

// addObject makes an object of the target's name. The caller fills in the state of the kind and reports the creation.
func (m *Machine) addObject(k shard.ObjectKind, t *target, id shard.NodeID, name []byte,
	body arena.Handle) arena.Handle {
	if t.node == nil {
		t.node = m.nodeFor(id)
	}
	h := m.objects.Alloc()
	o := m.objects.At(h)
	o.node, o.name, o.kind, o.body = t.node.handle, m.objects.names.Keep(name), k, body
	o.slot, o.hash, o.stamp = t.slot, uint32(t.hash>>32), m.epoch
	m.objects.slots[o.slot].Insert(o.hash, h)
	m.objects.byName.Insert(&t.node.names, h, &m.objects)
	t.node.objects++
	m.ofKind[k]++
	m.charge(t.node, m.objectSize(o))
	return h
}

// removeObject takes an object without links out.
func (m *Machine) removeObject(h arena.Handle) {
	m.touchObject(h)
	o := m.objects.At(h)
	assert.That(o.linkCount == 0, "an object goes with its links")
	if o.pending {
		m.removePending(pendingWork{object: h})
	}
	m.left--
	m.setAlarm(h, 0)
	n, kind := m.objects.node(o), o.kind
	m.charge(n, -m.objectSize(o))
	m.kinds[o.kind].free(o.body)
	m.objects.slots[o.slot].Remove(o.hash, h)
	m.objects.byName.Remove(&n.names, h)
	m.objects.names.Free(o.name)
	m.objects.Release(h)
	n.objects--
	m.ofKind[kind]--
	m.forgetIfEmpty(n)
}

// changed gives the object the next revision and notifies its watchers.
func (m *Machine) changed(h arena.Handle, flags shard.EffectFlags) {
	m.touchObject(h)
	m.lastRevision++
	o := m.objects.At(h)
	o.revision = m.lastRevision
	if flags&shard.FlagCreated != 0 {
		o.base = o.revision
	}
	e := m.emit(shard.EffectChanged)
	e.Object, e.Flags, e.Node, e.Revision = o.kind, flags, m.objects.node(o).id, o.revision
	e.Name = m.Spell(m.objects.names.Bytes(o.name))
}
