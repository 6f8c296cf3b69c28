package machine

import (
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// Describe fills d, and reuses its memory. It returns false if the object, or the requested view, does not exist.
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

// Described are the options for a Describe call, and the data the Description had before.
type Described struct {
	shard.DescribeOptions
	Had string
}

// After returns the object's first holding behind the order id.
func (ho *Holdings) After(o *Object, after shard.OrderID) arena.Handle {
	return ho.byObject.Search(o.holdings, func(h arena.Handle) bool { return ho.At(h).Order > after })
}

// View returns a holding for readers; had is the data the reader may already have.
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

// PageLimit returns the page size for the number of entries a reader asks for; 0 asks for the maximum.
func PageLimit(asked int) int {
	if asked <= 0 || asked > shard.MaxPage {
		return shard.MaxPage
	}
	return asked
}
