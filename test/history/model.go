package history

import (
	"fmt"
	"slices"
)

// model is a semaphore state, by the semaphore rules. It is a value: methods return a new model.
type model struct {
	exists    bool
	ephemeral bool
	limit     uint64
	data      string
	last      uint64      // highest order id known to be assigned
	owners    int         // number of owners in links; the rest are waiters
	links     []modelLink // by order; 0 for an order id unknown to clients
}

// modelLink is a holding in the model. A transient holding may end at any time without notice to a client: its acquire
// was given up or timed out, its release is in progress, or its session is over.
type modelLink struct {
	Link
	transient bool
}

// held is the sum of link counts.
func held(links []modelLink) uint64 {
	total := uint64(0)
	for _, l := range links {
		total = plus(total, l.Count)
	}
	return total
}

// answer is the outcome of an acquire.
type answer int

const (
	refused answer = iota
	missing
	neither
	waiting
	owning
)

func (m model) equal(other model) bool {
	return m.exists == other.exists && m.ephemeral == other.ephemeral && m.limit == other.limit &&
		m.data == other.data &&
		m.last == other.last && m.owners == other.owners && slices.Equal(m.links, other.links)
}

// hash is equal for equal models.
func (m model) hash() uint64 {
	const prime = 1099511628211
	h := uint64(14695981039346656037)
	mix := func(v uint64) { h = (h ^ v) * prime }
	for i := range len(m.data) {
		mix(uint64(m.data[i]))
	}
	mix(m.last)
	mix(uint64(m.owners))
	for _, l := range m.links {
		mix(l.Session)
		mix(l.Order)
		mix(l.Count)
		if l.transient {
			mix(1)
		}
	}
	return h
}

func (m model) index(session uint64) int {
	return slices.IndexFunc(m.links, func(l modelLink) bool { return l.Session == session })
}

// grant grants as many waiters as fit.
func (m model) grant() model {
	left := m.limit - held(m.links[:m.owners])
	for m.owners < len(m.links) && m.links[m.owners].Count <= left {
		left -= m.links[m.owners].Count
		m.owners++
	}
	return m
}

// without is the model after a link has gone.
func (m model) without(i int) model {
	m.links = slices.Delete(slices.Clone(m.links), i, i+1)
	if i < m.owners {
		m.owners--
	}
	m = m.grant()
	if m.ephemeral && len(m.links) == 0 {
		return model{last: m.last}
	}
	return m
}

// withoutLinks is the model after all links have gone at once.
func (m model) withoutLinks() model {
	if m.ephemeral {
		return model{last: m.last}
	}
	m.links, m.owners = nil, 0
	return m
}

// acquire returns the model after an acquire, and its outcome. ok is false if the acquire cannot have received the
// order id. Order 0 is unknown to clients.
func (m model) acquire(session, count, order uint64, try, ephemeral bool) (next model, a answer, ok bool) {
	switch {
	case !m.exists && !ephemeral:
		return m, missing, true
	case !m.exists:
		m = model{exists: true, ephemeral: true, limit: unlimited, last: m.last}
	case m.ephemeral != ephemeral || count > m.limit:
		return m, refused, true
	}
	if i := m.index(session); i >= 0 {
		return m.reacquire(i, count, order, try)
	}
	fits := m.owners == len(m.links) && count <= m.limit-held(m.links)
	if !fits && try {
		return m, neither, true
	}
	if order != 0 && order <= m.last {
		return m, refused, false
	}
	m.last = max(m.last, order)
	m.links = append(slices.Clone(m.links), modelLink{Link: Link{Session: session, Order: order, Count: count}})
	if !fits {
		return m, waiting, true
	}
	m.owners++
	return m, owning, true
}

// reacquire is an acquire by a session with an existing link.
func (m model) reacquire(i int, count, order uint64, try bool) (next model, a answer, ok bool) {
	l := m.links[i]
	if count > l.Count {
		return m, refused, true
	}
	if l.Order != 0 && order != 0 && l.Order != order {
		return m, refused, false
	}
	l.Order, l.Count, l.transient = max(l.Order, order), count, false
	m.last = max(m.last, order)
	m.links = slices.Clone(m.links)
	m.links[i] = l
	m = m.grant()
	switch {
	case i < m.owners:
		return m, owning, true
	case try:
		return m.without(i), neither, true
	}
	return m, waiting, true
}

// matches reports whether a description fits the model, and returns the model with the facts added by the description.
func (m model) matches(s *State) (next model, ok bool) {
	if !s.Exists || !m.exists {
		return m, s.Exists == m.exists
	}
	if s.Limit != m.limit || s.Data != m.data || len(s.Owners) != m.owners || len(s.Waiters) != len(m.links)-m.owners {
		return m, false
	}
	cloned := false
	for i, l := range m.links {
		var shown Link
		if i < m.owners {
			shown = s.Owners[i]
		} else {
			shown = s.Waiters[i-m.owners]
		}
		if shown == l.Link {
			continue
		}
		if l.Order != 0 || shown.Session != l.Session || shown.Count != l.Count {
			return m, false
		}
		if !cloned {
			m.links, cloned = slices.Clone(m.links), true
		}
		m.links[i].Order = shown.Order
		m.last = max(m.last, shown.Order)
	}
	return m, true
}

// markTransient marks the session's links as transient. A nonzero order selects one link.
func (m model) markTransient(session, order uint64) model {
	i := m.index(session)
	if i < 0 || m.links[i].transient || order != 0 && m.links[i].Order != 0 && m.links[i].Order != order {
		return m
	}
	m.links = slices.Clone(m.links)
	m.links[i].transient = true
	return m
}

// successors are the possible models after spontaneous ends of transient links.
func (m model) successors() []model {
	all := []model{m}
	for _, l := range m.links {
		if !l.transient {
			continue
		}
		for _, before := range all {
			all = append(all, before.without(before.index(l.Session)))
		}
	}
	return all
}

// String describes the model.
func (m model) String() string {
	if !m.exists {
		return "none"
	}
	return fmt.Sprintf("limit %d, data %q, owners %v, waiters %v",
		m.limit, m.data, m.links[:m.owners], m.links[m.owners:])
}
