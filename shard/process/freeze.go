package process

import "slices"

// This file fixes what is saved of a process and of a member as it is now, in little work, so that it can be encoded
// while they change: payloads, replies and the items of an inbox are shared, not copied.

// Freeze returns the process as it is now, without its members. Nothing may be done with it but Save, which may run
// beside commands of the process. The work grows with how many exchanges there are, and with nothing that they hold.
func (p *Process) Freeze() *Process {
	f := *p
	f.members = nil
	f.results, f.audit = slices.Clone(p.results), slices.Clone(p.audit)
	f.exchanges = make([]*Exchange, len(p.exchanges))
	list := make([]Exchange, len(p.exchanges))
	for k, e := range p.exchanges {
		list[k] = *e
		list[k].waiting = slices.Clone(e.waiting)
		f.exchanges[k] = &list[k]
	}
	return &f
}

// Freeze returns the member as it is now. Nothing may be done with it but Save, which may run beside commands of its
// process. It is called by who may give such commands: the member notes that its items are shared.
func (m *Member) Freeze() *Member {
	m.shared = true
	f := *m
	f.items = m.items[:len(m.items):len(m.items)]
	return &f
}
