package cluster

import "slices"

// Tried lists the hosts that an operation has tried, latest last. It starts empty. All hosts are kept: avoiding only
// the latest host could alternate between two failing hosts and never ask a third.
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

// Latest returns the last host tried, or nil.
func (t Tried) Latest() *Host {
	if len(t) == 0 {
		return nil
	}
	return t[len(t)-1]
}

// next returns the first preferred host not yet tried, or else the first host not yet tried, or else the host tried
// longest ago. A nil preferred accepts all hosts. The result is nil if there is no host.
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
