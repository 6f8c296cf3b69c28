package fairshare

import (
	"container/list"
	"net/netip"

	"github.com/signalbox/signalbox/internal/heap"
)

// holders are the parties that hold units in a pool, by token and address.
type holders struct {
	tokens map[string]*tokenHolder
	// withTokens is the total held by parties with a token, withoutToken the total held by parties without a token.
	withTokens, withoutToken int64
}

// tokenHolder is a token, or all parties without a token.
type tokenHolder struct {
	name      string
	held      int64
	addresses map[netip.Prefix]*holder
	// spare has, for each state below Pinned, the addresses with units in the state, largest holder first.
	spare [Pinned]heap.Heap[*holder, byHeld]
}

// holder is a party.
type holder struct {
	token   *tokenHolder
	address netip.Prefix
	held    int64
	units   int
	// arriving is the size of the party's arriving units.
	arriving int64
	// queues have the units by state, ordered by last change. at are the indexes in tokenHolder.spare.
	queues [Pinned]list.List
	at     [Pinned]int
}

// of returns a party's holder.
func (h *holders) of(p Party) *holder {
	t := h.tokens[p.Token]
	if t == nil {
		if h.tokens == nil {
			h.tokens = make(map[string]*tokenHolder)
		}
		t = &tokenHolder{name: p.Token, addresses: make(map[netip.Prefix]*holder)}
		for s := range t.spare {
			t.spare[s].By.state = State(s)
		}
		h.tokens[p.Token] = t
	}
	found := t.addresses[p.Address]
	if found == nil {
		found = &holder{token: t, address: p.Address}
		t.addresses[p.Address] = found
	}
	return found
}

// add counts units that a party takes or gives back.
func (h *holders) add(to *holder, size int64) {
	to.held += size
	to.token.held += size
	if to.token.name == "" {
		h.withoutToken += size
	} else {
		h.withTokens += size
	}
	for s := range to.queues {
		if to.queues[s].Len() > 0 {
			to.token.spare[s].Fix(to.at[s])
		}
	}
}

// prune forgets a party without units.
func (h *holders) prune(of *holder) {
	if of.units > 0 {
		return
	}
	delete(of.token.addresses, of.address)
	if len(of.token.addresses) == 0 {
		delete(h.tokens, of.token.name)
	}
}

// shares returns the number of equal shares for tokens in t's half, and whether the half exceeds its share.
func (h *holders) shares(t *tokenHolder, limit int64) (shares int64, above bool) {
	halves, half := int64(1), h.withTokens+h.withoutToken
	if h.tokens[""] != nil && len(h.tokens) > 1 {
		halves, half = 2, h.withTokens
		if t.name == "" {
			half = h.withoutToken
		}
	}
	shares = halves
	if t.name != "" {
		shares *= int64(len(h.tokens)) - (halves - 1)
	}
	return shares, half*halves > limit
}

// tokenAbove returns the number of equal shares, and whether a token and its half exceed their share.
func (h *holders) tokenAbove(t *tokenHolder, limit int64) (shares int64, above bool) {
	shares, above = h.shares(t, limit)
	return shares, above && t.held*shares > limit
}

// above reports whether a party, its token and its half exceed their share.
func (h *holders) above(of *holder, limit int64) bool {
	shares, above := h.tokenAbove(of.token, limit)
	return above && of.held*shares*int64(len(of.token.addresses)) > limit
}

// spare returns the unit in a state to take next: of the largest token and address above their share, the unit
// with the oldest last change. spare returns nil if no party above its share has a unit in the state.
func (h *holders) spare(s State, limit int64) *Unit {
	var best *Unit
	for _, t := range h.tokens {
		shares, above := h.tokenAbove(t, limit)
		if !above || len(t.spare[s].Items) == 0 {
			continue
		}
		addresses := shares * int64(len(t.addresses))
		most := t.spare[s].First()
		if s == Arriving && most.held*addresses <= limit {
			// The address with most arriving units is not above its share; another address may be.
			for _, other := range t.spare[s].Items {
				if other.held*addresses > limit && (most.held*addresses <= limit || t.spare[s].By.Before(other, most)) {
					most = other
				}
			}
		}
		if most.held*addresses <= limit {
			continue
		}
		if u := most.first(s); best == nil || u.takenBefore(best) {
			best = u
		}
	}
	return best
}

// takenBefore reports whether a unit is taken before another token's unit.
func (u *Unit) takenBefore(other *Unit) bool {
	if held, most := u.holder.token.held, other.holder.token.held; held != most {
		return held > most
	}
	return u.since < other.since
}

// first returns the unit in a state with the oldest last change.
func (h *holder) first(s State) *Unit { return h.queues[s].Front().Value.(*Unit) }

// enqueue appends a unit to its state's queue.
func (h *holder) enqueue(u *Unit) {
	if u.state == Pinned {
		return
	}
	if u.state == Arriving {
		h.arriving += u.size
	}
	u.queued = h.queues[u.state].PushBack(u)
	if h.queues[u.state].Len() == 1 {
		h.token.spare[u.state].Push(h)
	} else {
		h.token.spare[u.state].Fix(h.at[u.state])
	}
}

// dequeue removes a unit from its queue.
func (h *holder) dequeue(u *Unit) {
	if u.queued == nil {
		return
	}
	queue, spare := &h.queues[u.state], &h.token.spare[u.state]
	queue.Remove(u.queued)
	u.queued = nil
	if u.state == Arriving {
		h.arriving -= u.size
	}
	if queue.Len() == 0 {
		spare.Remove(h.at[u.state])
	} else {
		spare.Fix(h.at[u.state])
	}
}

// byHeld orders addresses with units in a state: largest holder first, then by the oldest unit's age. For arriving
// units only arriving size counts, so a newcomer stays even if its address has many units in use.
type byHeld struct{ state State }

// Before implements heap.Order.
func (b byHeld) Before(x, y *holder) bool {
	xs, ys := x.held, y.held
	if b.state == Arriving {
		xs, ys = x.arriving, y.arriving
	}
	if xs != ys {
		return xs > ys
	}
	return x.first(b.state).since < y.first(b.state).since
}

// Placed implements heap.Order.
func (b byHeld) Placed(h *holder, at int) { h.at[b.state] = at }
