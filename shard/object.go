package shard

import "bytes"

// object is the common part of named things of every kind.
type object struct {
	track

	node handle // the place of its node in the store's list
	name text

	links       handle // root of its links by order id
	lastLink    handle
	firstWaiter handle // zero without a waiting session
	linkCount   uint32

	body  handle // in the store of its kind
	stamp uint32
	hash  uint32 // the upper half of its hash
	slot  Slot
	kind  ObjectKind
	// deleting: the object is deleted, and some of its links are pending. pending: the object is on the pending list.
	deleting, pending bool
	// indexed: the links are in the links' index, because they were once too many to walk.
	indexed bool
}

// objectStore finds objects by name.
type objectStore struct {
	slab[object]
	nodes  slab[*node] // of the objects
	names  texts
	slots  []table
	byName forest
}

func newObjectStore() objectStore { return objectStore{names: newTexts(), slots: make([]table, Slots)} }

// find returns the object of the name, or zero.
func (st *objectStore) find(hash uint64, n NodeID, name []byte) handle {
	t := &st.slots[hash%Slots]
	if t.count == 0 {
		return 0
	}
	upper := uint32(hash >> 32)
	for i := int(upper) & (len(t.entries) - 1); t.entries[i] != 0; i = t.follow(i) {
		if uint32(t.entries[i]>>32) != upper {
			continue
		}
		h := handle(t.entries[i])
		if o := st.at(h); st.node(o).id == n && st.names.is(o.name, name) {
			return h
		}
	}
	return 0
}

// alive returns the object of the name if the object is of the kind and not deleted, else zero.
func (st *objectStore) alive(k ObjectKind, n NodeID, name []byte) handle {
	h := st.find(ObjectHash(n, name), n, name)
	if h == 0 {
		return 0
	}
	if o := st.at(h); o.kind != k || o.deleting {
		return 0
	}
	return h
}

// before orders the objects of a node by name.
func (st *objectStore) before(a, b handle) bool {
	return bytes.Compare(st.names.bytes(st.at(a).name), st.names.bytes(st.at(b).name)) < 0
}

// name returns the name of an object for readers.
func (st *objectStore) name(o *object) string { return st.names.string(o.name) }

func (st *objectStore) node(o *object) *node { return *st.nodes.at(o.node) }

// stands reports whether an object stands before a second object in the order of nodes and names.
func (st *objectStore) stands(a, b handle) bool {
	x, y := st.at(a), st.at(b)
	if x.node != y.node {
		return st.node(x).id < st.node(y).id
	}
	return st.before(a, b)
}

// addObject makes an object of the target's name. The caller fills in the state of the kind and reports the creation.
func (m *Machine) addObject(k ObjectKind, t *target, id NodeID, name []byte, body handle) handle {
	if t.node == nil {
		t.node = m.nodeFor(id)
	}
	h := m.objects.alloc()
	o := m.objects.at(h)
	o.node, o.name, o.kind, o.body = t.node.handle, m.objects.names.keep(name), k, body
	o.slot, o.hash, o.stamp = t.slot, uint32(t.hash>>32), m.epoch
	m.objects.slots[o.slot].insert(o.hash, h)
	m.objects.byName.insert(&t.node.names, h, &m.objects)
	t.node.objects++
	m.ofKind[k]++
	m.charge(t.node, m.objectSize(o))
	return h
}

// removeObject takes an object without links out.
func (m *Machine) removeObject(h handle) {
	m.touchObject(h)
	o := m.objects.at(h)
	assert(o.linkCount == 0, "an object goes with its links")
	if o.pending {
		m.removePending(pendingWork{object: h})
	}
	m.left--
	m.setAlarm(h, 0)
	n, kind := m.objects.node(o), o.kind
	m.charge(n, -m.objectSize(o))
	m.kinds[o.kind].free(o.body)
	m.objects.slots[o.slot].remove(o.hash, h)
	m.objects.byName.remove(&n.names, h)
	m.objects.names.free(o.name)
	m.objects.release(h)
	n.objects--
	m.ofKind[kind]--
	m.forgetIfEmpty(n)
}

// changed gives the object the next revision and notifies its watchers.
func (m *Machine) changed(h handle, flags EffectFlags) {
	m.touchObject(h)
	m.lastRevision++
	o := m.objects.at(h)
	o.revision = m.lastRevision
	if flags&FlagCreated != 0 {
		o.base = o.revision
	}
	e := m.emit(EffectChanged)
	e.Object, e.Flags, e.Node, e.Revision = o.kind, flags, m.objects.node(o).id, o.revision
	e.Name = m.spell(m.objects.names.bytes(o.name))
}
