package plan

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
)

// The tests' world: a few groups of three voters on six hosts. Operators drain hosts, and a planner moves the voters
// away, each by adding a learner, promoting it and removing the old voter: never fewer than three voters.

const (
	wanted = 3
	hosts  = 6
	groups = 3
)

type host int

// membership is one group, as known to its engine. A change names the version that it expects.
type membership struct {
	version  uint64
	voters   map[host]bool
	learners map[host]bool
}

func (m membership) clone() membership {
	return membership{m.version, maps.Clone(m.voters), maps.Clone(m.learners)}
}

// change is an executor's request to an engine.
type change struct {
	group   int
	version uint64
	verb    verb
	host    host
}

type verb int

const (
	addLearner verb = iota + 1
	promote
	removeHost
)

// apply makes a change, if the membership has the expected version.
func (m *membership) apply(c change) bool {
	if c.version != m.version {
		return false
	}
	m.version++
	switch c.verb {
	case addLearner:
		m.learners[c.host] = true
	case promote:
		delete(m.learners, c.host)
		m.voters[c.host] = true
	case removeHost:
		delete(m.learners, c.host)
		delete(m.voters, c.host)
	}
	return true
}

// wishes are the tests' replicated state, besides the plan: the operators' requests.
type wishes struct{ drained map[host]bool }

// facts are a leader's observations.
type facts struct {
	groups [groups]membership
	down   map[host]bool
}

func (f facts) clone() facts {
	c := facts{down: maps.Clone(f.down)}
	for g := range f.groups {
		c.groups[g] = f.groups[g].clone()
	}
	return c
}

// move is a step's payload: a group's voter to move to another host, or to remove.
type move struct {
	group    int
	from, to host
}

const (
	kindMove   Kind = 1 // phases: 0 add a learner, 1 promote it, 2 remove the old voter
	kindRemove Kind = 2 // a voter or a learner too many
)

type (
	view    = View[wishes, facts, move]
	finding = Finding[move]
)

func subjectOf(group int) Subject { return Subject(fmt.Sprintf("group/%d", group)) }

func sorted(set map[host]bool) []host { return slices.Sorted(maps.Keys(set)) }

// excess: a group with more voters than wanted, or with a learner, removes one. Interrupted moves leave such groups.
func excess(v view) (f finding) {
	for g, m := range v.Seen.groups {
		if moving(v, g) {
			continue
		}
		for _, h := range sorted(m.learners) {
			f.Steps = append(f.Steps, removal(g, h))
		}
		if len(m.voters) <= wanted {
			continue
		}
		victim := host(-1)
		for _, h := range sorted(m.voters) {
			if victim < 0 || v.State.drained[h] {
				victim = h
			}
		}
		f.Steps = append(f.Steps, removal(g, victim))
	}
	return f
}

func moving(v view, group int) bool {
	return slices.ContainsFunc(v.Plan.Steps(), func(s Step[move]) bool { return s.Payload.group == group })
}

func removal(g int, h host) Proposal[move] {
	return Proposal[move]{Kind: kindRemove, Subject: subjectOf(g), Payload: move{group: g, from: h, to: -1}}
}

// drain: a voter on a drained host moves to the free host with the fewest replicas.
func drain(v view) (f finding) {
	for g, m := range v.Seen.groups {
		for _, from := range sorted(m.voters) {
			if !v.State.drained[from] || moving(v, g) {
				continue
			}
			to := target(v, m)
			if to < 0 {
				f.Reasons = append(f.Reasons, Reason{Code: "no-host", Subjects: []Subject{subjectOf(g)},
					Text: fmt.Sprintf("no host is free for the voter on host %d", from)})
				break
			}
			f.Steps = append(f.Steps, Proposal[move]{Kind: kindMove, Subject: subjectOf(g),
				With: []Subject{Subject(fmt.Sprintf("host/%d", to))}, Payload: move{g, from, to}})
			break
		}
	}
	return f
}

func target(v view, m membership) host {
	best, fewest := host(-1), 0
	for h := range host(hosts) {
		if v.State.drained[h] || v.Seen.down[h] || m.voters[h] || m.learners[h] {
			continue
		}
		n := 0
		for _, other := range v.Seen.groups {
			if other.voters[h] {
				n++
			}
		}
		if best < 0 || n < fewest {
			best, fewest = h, n
		}
	}
	return best
}

func newPlanner() *Planner[wishes, facts, move] {
	return &Planner[wishes, facts, move]{
		Rules: []Rule[wishes, facts, move]{{"excess", excess}, {"drain", drain}},
		Types: []Type[wishes, facts, move]{
			{Kind: kindMove, Name: "move", Reached: moveReached, Model: func(v view, s *Step[move]) (wishes, facts) {
				next := v.Seen.clone()
				m := &next.groups[s.Payload.group]
				delete(m.voters, s.Payload.from)
				delete(m.learners, s.Payload.to)
				m.voters[s.Payload.to] = true
				return v.State, next
			}},
			{Kind: kindRemove, Name: "removal", Reached: func(v view, s *Step[move]) (Phase, bool) {
				m := v.Seen.groups[s.Payload.group]
				return 0, !m.voters[s.Payload.from] && !m.learners[s.Payload.from]
			}, Model: func(v view, s *Step[move]) (wishes, facts) {
				next := v.Seen.clone()
				next.groups[s.Payload.group].apply(change{s.Payload.group, next.groups[s.Payload.group].version,
					removeHost, s.Payload.from})
				return v.State, next
			}},
		},
	}
}

func moveReached(v view, s *Step[move]) (Phase, bool) {
	m := v.Seen.groups[s.Payload.group]
	switch {
	case m.voters[s.Payload.to] && !m.voters[s.Payload.from]:
		return s.Phase, true
	case m.voters[s.Payload.to]:
		return 2, false
	case m.learners[s.Payload.to]:
		return 1, false
	}
	return 0, false
}

// perform returns a step's requested change, and whether it is safe according to the executor's view.
func perform(s *Step[move], f facts) (change, bool) {
	m := f.groups[s.Payload.group]
	c := change{group: s.Payload.group, version: m.version, host: s.Payload.to}
	switch {
	case s.Kind == kindMove && s.Phase == 0:
		c.verb = addLearner
		return c, !m.voters[c.host] && !f.down[c.host]
	case s.Kind == kindMove && s.Phase == 1:
		c.verb = promote
		return c, m.learners[c.host] && !f.down[c.host]
	}
	c.verb, c.host = removeHost, s.Payload.from
	return c, m.learners[c.host] || m.voters[c.host] && len(m.voters) > wanted
}

func newConfig() *Config[move] {
	return &Config[move]{Open: 2, Delay: 100, MaxDelay: 3000, Attempts: 3,
		Append: func(dst []byte, m move) []byte {
			dst = binary.AppendUvarint(dst, uint64(m.group))
			return binary.AppendVarint(binary.AppendVarint(dst, int64(m.from)), int64(m.to))
		},
		Read: func(src []byte) (m move, err error) {
			group, n := binary.Uvarint(src)
			if n <= 0 || group > groups {
				return m, ErrForm
			}
			from, k := binary.Varint(src[n:])
			if k <= 0 {
				return m, ErrForm
			}
			to, l := binary.Varint(src[n+k:])
			if l <= 0 || n+k+l != len(src) {
				return m, ErrForm
			}
			return move{int(group), host(from), host(to)}, nil
		}}
}

// newFacts puts every group's voters on the first hosts.
func newFacts() facts {
	f := facts{down: map[host]bool{}}
	for g := range f.groups {
		f.groups[g] = membership{1, map[host]bool{}, map[host]bool{}}
		for i := range wanted {
			f.groups[g].voters[host((g+i)%hosts)] = true
		}
	}
	return f
}
