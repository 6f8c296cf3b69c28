package lease

import "github.com/signalbox/signalbox/shard"

// Holder returns what the session is attached over, nil where it is not attached.
func (t *Table) Holder(id shard.SessionID) *Holder {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sessions.byID[id]
	if s == nil || s.group == nil {
		return nil
	}
	return s.group.holder
}
