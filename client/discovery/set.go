package discovery

import (
	"slices"

	"github.com/signalbox/signalbox/client"
)

// Set is the list of endpoints at one moment. A Set never changes, and may be kept and shared; the lists in a Set must
// not be changed.
type Set struct {
	// Revision grows with every change.
	Revision uint64
	// Endpoints are all endpoints, ordered by order id: the order in which they registered.
	Endpoints []Endpoint
	// Joined are the endpoints that are new since the set before, Changed the endpoints that were updated, and Left
	// the endpoints that are gone, as they were. An endpoint that is registered again after an expiry leaves, and
	// joins.
	Joined  []Endpoint
	Changed []Endpoint
	Left    []Endpoint
	// Unreadable is how many owners have published data that is no endpoint.
	Unreadable int
}

// after returns the set of a view, given the set of the view before. Endpoints are read once, when they change.
func after(before *Set, v *client.View) *Set {
	s := &Set{Revision: v.Revision}
	changes := v.Changes()
	var moved []uint64 // order ids of the list before whose endpoints the new list does not keep
	leave := func(orderID uint64) {
		if i, ok := before.find(orderID); ok {
			s.Left = append(s.Left, before.Endpoints[i])
			moved = append(moved, orderID)
		}
	}
	for i := range changes.Left {
		leave(changes.Left[i].OrderID)
	}
	for i := range changes.Joined {
		if e, ok := decode(&changes.Joined[i]); ok {
			s.Joined = append(s.Joined, e)
		}
	}
	for i := range changes.Changed {
		e, readable := decode(&changes.Changed[i])
		at, was := before.find(changes.Changed[i].OrderID)
		switch {
		case !readable:
			leave(changes.Changed[i].OrderID)
		case !was:
			s.Joined = append(s.Joined, e)
		case !e.same(before.Endpoints[at]):
			s.Changed = append(s.Changed, e)
			moved = append(moved, e.OrderID)
		}
	}
	slices.SortFunc(s.Left, byOrder)
	slices.SortFunc(s.Joined, byOrder)
	slices.Sort(moved)
	s.Endpoints = make([]Endpoint, 0, v.Len())
	for _, e := range before.Endpoints {
		for len(moved) > 0 && moved[0] < e.OrderID {
			moved = moved[1:]
		}
		if len(moved) == 0 || moved[0] != e.OrderID {
			s.Endpoints = append(s.Endpoints, e)
		}
	}
	s.Endpoints = append(append(s.Endpoints, s.Changed...), s.Joined...)
	if !slices.IsSortedFunc(s.Endpoints, byOrder) {
		slices.SortFunc(s.Endpoints, byOrder)
	}
	s.Unreadable = v.Len() - len(s.Endpoints)
	return s
}

func (s *Set) find(orderID uint64) (int, bool) {
	return slices.BinarySearchFunc(s.Endpoints, Endpoint{OrderID: orderID}, byOrder)
}

// differs reports whether the set is news for a reader who knows the set before.
func (s *Set) differs(before *Set) bool {
	return len(s.Joined)+len(s.Changed)+len(s.Left) > 0 || s.Unreadable != before.Unreadable
}
