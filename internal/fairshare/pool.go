package fairshare

import (
	"container/list"
	"sync"
)

// State is how easily a unit can be taken back.
type State int

const (
	// Idle is a unit without use at the moment. The pool takes idle units first.
	Idle State = iota
	// Arriving is a unit whose caller is being admitted. The pool takes the oldest arriving unit, but only if no party
	// above its share has an idle unit. A new unit is never taken for itself.
	Arriving
	// Busy is a unit in use. The pool takes a busy unit only for a party below its share, after idle and arriving
	// units.
	Busy
	// Pinned is a unit in use that cannot be taken.
	Pinned
)

// Pool divides a resource among parties. All goroutines may use a Pool.
type Pool struct {
	limit int64
	// replace lets a party above its share replace idle and arriving units, including its own. Otherwise a full pool
	// rejects the party.
	replace bool

	mu      sync.Mutex // guards the next fields, and the units' fields
	total   int64
	moves   uint64 // counts unit changes, to order units by age
	taken   uint64
	refused uint64
	holders holders
}

// NewPool returns a pool for units that are cheap to replace, such as connections. In a full pool every new unit
// replaces an idle unit.
func NewPool(limit int64) *Pool { return &Pool{limit: limit, replace: true} }

// NewFixedPool returns a pool for units whose holders come back at once, such as sessions. A full pool rejects parties
// above their share, so holders do not replace each other in turn.
func NewFixedPool(limit int64) *Pool { return &Pool{limit: limit} }

// Unit is a party's holding in a pool.
type Unit struct {
	pool *Pool
	end  func()

	// The next fields are guarded by Pool.mu.
	party  Party
	state  State
	size   int64
	since  uint64  // Pool.moves at the last change
	holder *holder // nil before the first Assign, and after the unit is gone
	queued *list.Element
	gone   bool
}

// Unit creates a unit with the given size, for Assign. If the pool takes the unit back for another party, the pool
// calls end without a lock.
func (p *Pool) Unit(size int64, end func()) *Unit { return &Unit{pool: p, size: size, end: end} }

// Assign gives a unit to a party. Assign, Set and Resize return false if the unit is gone: the pool has taken the unit
// back, or the pool is full and the party is above its share.
func (u *Unit) Assign(to Party, s State) bool {
	u.pool.mu.Lock()
	return u.pool.update(u, to, s, u.size)
}

// Set changes a unit's state. See Assign.
func (u *Unit) Set(s State) bool {
	u.pool.mu.Lock()
	return u.pool.update(u, u.party, s, u.size)
}

// Resize changes a unit's size. See Assign.
func (u *Unit) Resize(size int64) bool {
	u.pool.mu.Lock()
	return u.pool.update(u, u.party, u.state, size)
}

// Leave gives a unit back. Leave may be called repeatedly, even on a unit that has been taken back.
func (u *Unit) Leave() {
	u.pool.mu.Lock()
	defer u.pool.mu.Unlock()
	u.pool.remove(u)
}

// update changes a unit, takes units back until all fit, and reports whether the changed unit stays. update unlocks mu.
func (p *Pool) update(u *Unit, by Party, s State, size int64) (stays bool) {
	if u.gone {
		p.mu.Unlock()
		return false
	}
	p.recount(u, by, size)
	u.state = s
	victims, stays := p.reclaim(u)
	if stays {
		p.moves++
		u.since = p.moves
		u.holder.enqueue(u)
	} else {
		p.remove(u)
		p.refused++
	}
	p.taken += uint64(len(victims))
	p.mu.Unlock()
	for _, v := range victims {
		v.end()
	}
	return stays
}

// reclaim takes units back until all fit, and reports whether u stays. u is counted, and in no queue. mu is held.
func (p *Pool) reclaim(u *Unit) (victims []*Unit, stays bool) {
	for p.total > p.limit {
		above := p.holders.above(u.holder, p.limit)
		var v *Unit
		if p.replace || !above {
			if v = p.holders.spare(Idle, p.limit); v == nil {
				v = p.holders.spare(Arriving, p.limit)
			}
		}
		if v == nil && u.state == Busy && !above {
			v = p.holders.spare(Busy, p.limit)
		}
		if v == nil {
			return victims, !above || u.state == Pinned
		}
		p.remove(v)
		victims = append(victims, v)
	}
	return victims, true
}

// recount removes a unit from its queue and counts it for a party. mu is held.
func (p *Pool) recount(u *Unit, by Party, size int64) {
	to := p.holders.of(by)
	to.units++
	p.uncount(u)
	u.holder, u.party, u.size = to, by, size
	p.total += size
	p.holders.add(to, size)
}

// uncount removes a unit from its party's queue and counts. mu is held.
func (p *Pool) uncount(u *Unit) {
	if u.holder == nil {
		return
	}
	u.holder.dequeue(u)
	p.total -= u.size
	p.holders.add(u.holder, -u.size)
	u.holder.units--
	p.holders.prune(u.holder)
	u.holder = nil
}

// remove permanently removes a unit from the pool. mu is held.
func (p *Pool) remove(u *Unit) {
	p.uncount(u)
	u.gone = true
}

// Spare takes an idle or arriving unit back although the pool may not be full.
func (p *Pool) Spare() {
	p.mu.Lock()
	v := p.holders.spare(Idle, p.total-1)
	if v == nil {
		v = p.holders.spare(Arriving, p.total-1)
	}
	if v != nil {
		p.remove(v)
		p.taken++
	}
	p.mu.Unlock()
	if v != nil {
		v.end()
	}
}

// Counts are a pool's counts: the held size, the units taken back, and the units rejected because the party was above
// its share.
type Counts struct {
	Held           int64
	Taken, Refused uint64
}

// Counts returns the counts.
func (p *Pool) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Counts{p.total, p.taken, p.refused}
}
