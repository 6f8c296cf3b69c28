package cluster

import "slices"

// Tried is the hosts that an operation has tried, the latest last. It is empty when the operation begins. All hosts
// are kept: an operation that avoided only the latest would go back and forth between two hosts that fail, and never
// ask a third.
type Tried []*Host

// Add notes a try.
func (t *Tried) Add(h *Host) {
	if h == nil {
		return
	}
	h = h.self()
	*t = append(slices.DeleteFunc(*t, func(other *Host) bool { return other == h }), h)
}

// has reports whether a host was tried.
func (t Tried) has(h *Host) bool { return slices.Contains(t, h) }

// Latest returns the host that was tried last, nil for none.
func (t Tried) Latest() *Host {
	if len(t) == 0 {
		return nil
	}
	return t[len(t)-1]
}

// next returns the first of the hosts that was not tried and is preferred, or else the first that was not tried, or
// else the one whose try is the longest ago. A nil preferred stands for all hosts. The result is nil if there is no
// host.
func (t Tried) next(preferred func(*Host) bool, hosts ...[]*Host) *Host {
	var found *Host
	var foundAt int
	for _, some := range hosts {
		for _, h := range some {
			at := slices.Index(t, h)
			if at < 0 && (preferred == nil || preferred(h)) {
				return h
			}
			if found == nil || at < foundAt {
				found, foundAt = h, at
			}
		}
	}
	return found
}
