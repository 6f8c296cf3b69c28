package discovery

import (
	"slices"

	"github.com/signalbox/signalbox/client"
)

// Set is the list of endpoints at one moment. A Set never changes, and may be kept and shared. Its slices must not be
// changed.
type Set struct {
	// Revision grows with every change.
	Revision uint64
	// Endpoints lists all endpoints, sorted by order id, which is their registration order.
	Endpoints []Endpoint
	// Compared with the previous set, Joined lists new endpoints, Changed lists updated endpoints, and Left lists
	// removed endpoints with their last content. An endpoint that is registered again after an expiry appears in both
	// Left and Joined.
	Joined  []Endpoint
	Changed []Endpoint
	Left    []Endpoint
	// Unreadable counts owners whose data is not a valid endpoint.
	Unreadable int
}

// after returns the set for a view, given the set for the previous view. Endpoints are decoded only when they change.
func after(before *Set, v *client.View) *Set {
	s := &Set{Revision: v.Revision}
	changes := v.Changes()
	var moved []uint64 // order ids whose endpoints the new list does not keep
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

// differs reports whether a reader of the previous set needs this one.
func (s *Set) differs(before *Set) bool {
	return len(s.Joined)+len(s.Changed)+len(s.Left) > 0 || s.Unreadable != before.Unreadable
}
