package lease

import "github.com/signalbox/signalbox/shard"

// Late tells whether an attach of that sequence comes after one of a higher: it will not be had.
func (t *Table) Late(id shard.SessionID, seq uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sessions.byID[id]
	return s != nil && seq < s.seq
}

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
