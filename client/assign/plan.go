package assign

import (
	"slices"
)

// plan lists the steps that move partitions from their current owners to their new owners.
type plan struct {
	// starts maps a member to free partitions to start at once.
	starts map[uint64][]string
	// stops maps a member to the partitions to stop.
	stops map[uint64][]string
	// moves maps the old owner and the new owner to the partitions that move between them.
	moves map[uint64]map[uint64][]string
	// assignment is the assignment after all moves.
	assignment Assignment
}

// reporter is a member and its report.
type reporter struct {
	id         uint64
	name       string
	attributes []byte
	report
}

// takersOf returns the members that may get partitions. Free partitions are offered to their owners in the previous
// assignment.
func takersOf(parts []string, members []reporter, before *Assignment) []Candidate {
	var takers []Candidate
	held := make(map[string]bool)
	for _, m := range members {
		for part := range m.Held {
			held[part] = true
		}
	}
	for _, m := range members {
		if m.Leaving {
			continue
		}
		t := Candidate{ID: m.id, Name: m.name, Attributes: m.attributes}
		for _, part := range parts {
			if _, has := m.Held[part]; has {
				t.Has = append(t.Has, part)
			} else if owner, _ := before.OwnerOf(part); owner != nil && !held[part] && owner.Name == m.name {
				t.Had = append(t.Had, part)
			}
		}
		takers = append(takers, t)
	}
	return takers
}

// newPlan computes the steps that give each taker its share. A free partition starts at once. Tokens equal the epoch,
// except for partitions kept by a member.
func newPlan(epoch uint64, parts []string, members []reporter, takers []Candidate, shares [][]string) *plan {
	p := &plan{
		starts: make(map[uint64][]string), stops: make(map[uint64][]string),
		moves: make(map[uint64]map[uint64][]string), assignment: Assignment{Epoch: epoch},
	}
	holder := make(map[string]*reporter)
	for i := range members {
		for part := range members[i].Held {
			holder[part] = &members[i]
		}
	}
	to := make(map[string]uint64)
	for i, t := range takers {
		owner := Owner{ID: t.ID, Name: t.Name}
		for _, part := range shares[i] {
			to[part] = t.ID
			owner.Parts = append(owner.Parts, p.give(part, t.ID, holder[part], epoch))
		}
		p.assignment.Owners = append(p.assignment.Owners, owner)
	}
	for _, m := range members {
		for part := range m.Held {
			if to[part] != m.id {
				p.stops[m.id] = append(p.stops[m.id], part)
			}
		}
		slices.Sort(p.stops[m.id])
	}
	for _, part := range parts {
		if to[part] == 0 {
			p.assignment.Unassigned = append(p.assignment.Unassigned, part)
		}
	}
	return p
}

// give assigns a partition to a member and returns the partition with its token.
func (p *plan) give(part string, to uint64, holder *reporter, epoch uint64) Partition {
	given := Partition{Name: part, Token: epoch}
	switch {
	case holder == nil:
		p.starts[to] = append(p.starts[to], part)
	case holder.id != to:
		if p.moves[holder.id] == nil {
			p.moves[holder.id] = make(map[uint64][]string)
		}
		p.moves[holder.id][to] = append(p.moves[holder.id][to], part)
	case holder.Stopping[part]:
		p.starts[to] = append(p.starts[to], part) // the stopping member gets the partition again
	default:
		given.Token = holder.Held[part]
	}
	return given
}
