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
	d.Name, d.Revision = r.Name, v.Revision
	m.core.kinds[r.Kind].Describe(m.core, h, v, Described{o, had}, d)
	return true
}

// Described are the options of a Describe, and the data that the Description had before.
type Described struct {
	shard.DescribeOptions
	Had string
}

// After returns the first holding of an object behind the order id.
func (ho *Holdings) After(o *Object, after shard.OrderID) arena.Handle {
	return ho.byObject.Search(o.holdings, func(h arena.Handle) bool { return ho.At(h).Order > after })
}

// View is a link for readers, who may have its data already.
func (ho *Holdings) View(l *Holding, had string) shard.LinkView {
	v := shard.LinkView{
		Order: l.Order, Session: ho.core.Sessions.At(l.Session).id, Count: l.Count,
		Data: ho.texts.Again(l.data, had), Owner: l.Owner, Since: l.Since,
	}
	if !l.Owner {
		v.Timeout = l.timeout.millis()
	}
	return v
}

// PageLimit returns how many things a page has if a reader asks for a number; 0 asks for the most.
func PageLimit(asked int) int {
	if asked <= 0 || asked > shard.MaxPage {
		return shard.MaxPage
	}
	return asked
}
