package arena

// Forest keeps ordered trees over one slab's handles; every handle is in at most one tree, and a tree is identified by
// its root handle. The trees are treaps with priorities derived from the handles, so an operation costs O(log n) for
// any insertion order. Tree shapes are never visible outside the machine.
type Forest struct {
	memory[treeNode]
}

type treeNode struct {
	left, right, parent Handle
}

// Ordering compares two handles in a tree. The order must be strict and total.
type Ordering interface {
	Before(a, b Handle) bool
}

// Mix spreads a number over 64 bits (the finalizer of splitmix64). A handle's priority is the mixed handle.
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Search returns a tree's first handle behind a position, or zero. behind is true for all handles from the first match
// on.
func (f *Forest) Search(root Handle, behind func(h Handle) bool) (found Handle) {
	for h := root; h != 0; {
		if behind(h) {
			found, h = h, f.At(h).left
		} else {
			h = f.At(h).right
		}
	}
	return found
}

// Insert inserts h into the tree, at its position in the order.
func (f *Forest) Insert(root *Handle, h Handle, o Ordering) {
	parent, left := Handle(0), false
	for at := *root; at != 0; {
		parent, left = at, o.Before(h, at)
		if n := f.At(at); left {
			at = n.left
		} else {
			at = n.right
		}
	}
	f.Add(root, parent, left, h)
}

// Add inserts h as the left or right child of parent, which must not have such a child, or as the root of an empty tree
// (parent zero), and rotates h up until its parent has a higher priority. To add h behind a tree's last handle, add it
// as the last handle's right child.
func (f *Forest) Add(root *Handle, parent Handle, left bool, h Handle) {
	if chunk := h >> chunkBits; !f.has(chunk) {
		f.take(chunk)
	}
	n := f.At(h)
	*n = treeNode{parent: parent}
	switch {
	case parent == 0:
		*root = h
	case left:
		f.At(parent).left = h
	default:
		f.At(parent).right = h
	}
	for n.parent != 0 && Mix(uint64(n.parent)) < Mix(uint64(h)) {
		f.rotateUp(root, h)
	}
}

func (f *Forest) rotateUp(root *Handle, h Handle) {
	n := f.At(h)
	p := n.parent
	pn := f.At(p)
	g := pn.parent
	var moved Handle
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
		f.At(moved).parent = p
	}
	pn.parent = h
	n.parent = g
	f.replace(root, g, p, h)
}

// replace makes now a child of parent (zero: the root) instead of old.
func (f *Forest) replace(root *Handle, parent, old, now Handle) {
	if parent == 0 {
		*root = now
		return
	}
	if pn := f.At(parent); pn.left == old {
		pn.left = now
	} else {
		pn.right = now
	}
}

// Remove removes h from its tree.
func (f *Forest) Remove(root *Handle, h Handle) {
	n := f.At(h)
	for n.left != 0 && n.right != 0 {
		up := n.left
		if Mix(uint64(n.right)) > Mix(uint64(up)) {
			up = n.right
		}
		f.rotateUp(root, up)
	}
	child := n.left
	if child == 0 {
		child = n.right
	}
	if child != 0 {
		f.At(child).parent = n.parent
	}
	f.replace(root, n.parent, h, child)
	*n = treeNode{}
}

// First returns a tree's first handle, zero if empty.
func (f *Forest) First(root Handle) Handle {
	if root == 0 {
		return 0
	}
	for {
		left := f.At(root).left
		if left == 0 {
			return root
		}
		root = left
	}
}

// Next returns the handle after h, zero after the last.
func (f *Forest) Next(h Handle) Handle {
	n := f.At(h)
	if n.right != 0 {
		return f.First(n.right)
	}
	for n.parent != 0 {
		p := f.At(n.parent)
		if p.left == h {
			return n.parent
		}
		h, n = n.parent, p
	}
	return 0
}

// Prev returns the handle before h, zero before the first.
func (f *Forest) Prev(h Handle) Handle {
	n := f.At(h)
	if n.left != 0 {
		at := n.left
		for f.At(at).right != 0 {
			at = f.At(at).right
		}
		return at
	}
	for n.parent != 0 {
		p := f.At(n.parent)
		if p.right == h {
			return n.parent
		}
		h, n = n.parent, p
	}
	return 0
}
