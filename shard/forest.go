package shard

// forest keeps ordered trees over the handles of one slab; every handle is in at most one tree of a
// forest, and a tree is known by the handle at its root. The trees are treaps whose priorities come
// from the handles, so an operation costs O(log n) whatever the order of insertion. Their shape is
// never visible outside of the machine.
type forest struct {
	memory[treeNode]
}

type treeNode struct {
	left, right, parent handle
}

// ordering compares two handles of a tree. The order must be strict and total.
type ordering interface {
	before(a, b handle) bool
}

// mix spreads a number over 64 bits (the finalizer of splitmix64). The priority of a handle is the handle mixed.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// search returns the first handle of a tree that is behind a place, or zero. behind is true for all handles from the
// first one on.
func (f *forest) search(root handle, behind func(h handle) bool) (found handle) {
	for h := root; h != 0; {
		if behind(h) {
			found, h = h, f.at(h).left
		} else {
			h = f.at(h).right
		}
	}
	return found
}

// insert puts h into the tree, at the place by the order.
func (f *forest) insert(root *handle, h handle, o ordering) {
	parent, left := handle(0), false
	for at := *root; at != 0; {
		parent, left = at, o.before(h, at)
		if n := f.at(at); left {
			at = n.left
		} else {
			at = n.right
		}
	}
	f.add(root, parent, left, h)
}

// add puts h into the tree as the left or the right child of a handle without such a child, or as the root of an empty
// tree (parent zero), and rotates h up until the parent of h has the higher priority. To add h behind the last handle
// of the tree is to add a right child of the last.
func (f *forest) add(root *handle, parent handle, left bool, h handle) {
	if chunk := h >> chunkBits; !f.has(chunk) {
		f.take(chunk)
	}
	n := f.at(h)
	*n = treeNode{parent: parent}
	switch {
	case parent == 0:
		*root = h
	case left:
		f.at(parent).left = h
	default:
		f.at(parent).right = h
	}
	for n.parent != 0 && mix(uint64(n.parent)) < mix(uint64(h)) {
		f.rotateUp(root, h)
	}
}

func (f *forest) rotateUp(root *handle, h handle) {
	n := f.at(h)
	p := n.parent
	pn := f.at(p)
	g := pn.parent
	var moved handle
	if pn.left == h {
		moved = n.right
		pn.left = moved
		n.right = p
	} else {
		moved = n.left
		pn.right = moved
		n.left = p
	}
	if moved != 0 {
		f.at(moved).parent = p
	}
	pn.parent = h
	n.parent = g
	f.replace(root, g, p, h)
}

// replace gives parent (zero: the root) the child now in the place of old.
func (f *forest) replace(root *handle, parent, old, now handle) {
	if parent == 0 {
		*root = now
		return
	}
	if pn := f.at(parent); pn.left == old {
		pn.left = now
	} else {
		pn.right = now
	}
}

// remove removes h from its tree.
func (f *forest) remove(root *handle, h handle) {
	n := f.at(h)
	for n.left != 0 && n.right != 0 {
		up := n.left
		if mix(uint64(n.right)) > mix(uint64(up)) {
			up = n.right
		}
		f.rotateUp(root, up)
	}
	child := n.left
	if child == 0 {
		child = n.right
	}
	if child != 0 {
		f.at(child).parent = n.parent
	}
	f.replace(root, n.parent, h, child)
	*n = treeNode{}
}

// first returns the first handle of a tree, zero for an empty tree.
func (f *forest) first(root handle) handle {
	if root == 0 {
		return 0
	}
	for {
		left := f.at(root).left
		if left == 0 {
			return root
		}
		root = left
	}
}

// next returns the handle behind h, zero behind the last.
func (f *forest) next(h handle) handle {
	n := f.at(h)
	if n.right != 0 {
		return f.first(n.right)
	}
	for n.parent != 0 {
		p := f.at(n.parent)
		if p.left == h {
			return n.parent
		}
		h, n = n.parent, p
	}
	return 0
}

// prev returns the handle before h, zero before the first.
func (f *forest) prev(h handle) handle {
	n := f.at(h)
	if n.left != 0 {
		at := n.left
		for f.at(at).right != 0 {
			at = f.at(at).right
		}
		return at
	}
	for n.parent != 0 {
		p := f.at(n.parent)
		if p.right == h {
			return n.parent
		}
		h, n = n.parent, p
	}
	return 0
}
