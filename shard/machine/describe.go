package machine

import (
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// Describe fills d, and reuses the memory of d. It returns false if there is no object of the kind and name, or no
// such view of the object.
func (m *Machine) Describe(r shard.Ref, o shard.DescribeOptions, d *shard.Description) bool {
	had := d.Data
	*d = shard.Description{Links: d.Links[:0], Rows: d.Rows[:0], Bodies: d.Bodies[:0]}
	m.mu.RLock()
	defer m.mu.RUnlock()
	h, v, ok := m.core.Objects.lookUp(&r)
	if !ok {
		return false
	}
	d.Name, d.Revision = r.Name, v.revision
	m.core.kinds[r.Kind].describe(m.core, h, v, described{o, had}, d)
	return true
}

// described are the options of a Describe, and the data that the Description had before.
type described struct {
	shard.DescribeOptions
	had string
}

// After returns the first link of an object behind the order id.
func (ho *Holdings) After(root arena.Handle, after shard.OrderID) arena.Handle {
	return ho.byObject.Search(root, func(h arena.Handle) bool { return ho.At(h).order > after })
}

// View is a link for readers, who may have its data already.
func (ho *Holdings) View(l *link, had string) shard.LinkView {
	v := shard.LinkView{
		Order: l.order, Session: ho.core.Sessions.At(l.session).id, Count: l.count,
		Data: ho.texts.Again(l.data, had), Owner: l.owner, Since: l.since,
	}
	if !l.owner {
		v.Timeout = l.timeout.millis()
	}
	return v
}

func pageLimit(asked int) int {
	if asked <= 0 || asked > shard.MaxPage {
		return shard.MaxPage
	}
	return asked
}
