package replica

import (
	"context"
	"encoding/json"

	"github.com/signalbox/signalbox/shard"
)

// AnswerHome answers a call of another host about sessions.
func (s *Set) AnswerHome(ctx context.Context, from shard.HostID, request []byte) ([]byte, error) {
	var r homeRequest
	if err := json.Unmarshal(request, &r); err != nil {
		return nil, err
	}
	c, a := &r.Home, homeAnswer{}
	for _, e := range c.Ended {
		s.over(e.ID, e.Reason)
	}
	asked, err := c.Asked.unpack()
	if err != nil {
		return nil, err
	}
	for _, id := range asked {
		a.Liveness = append(a.Liveness, byte(s.vouch(id, from)))
	}
	for i := range c.Lost {
		home := s.Of(shard.SessionID(c.Lost[i].SessionID).Slot())
		if !home.Leads() {
			a.Elsewhere = append(a.Elsewhere, home.ID)
			continue
		}
		home.pushLoss(&c.Lost[i], func(c Conn) { c.Flush(false) })
	}
	for _, id := range c.Leads {
		if id == MetaShard || id > uint64(len(s.Replicas)) || !s.Replicas[id-1].Holds() {
			continue
		}
		if l := s.Replicas[id-1].Known(); l.Leader != 0 {
			a.Led = append(a.Led, ledShard{id, l.Leader, l.Term})
		}
	}
	if c.One != nil {
		one := s.lookUp(ctx, from, c.One)
		a.One = &one
	}
	shown, err := c.Shown.unpack()
	if err != nil {
		return nil, err
	}
	for _, id := range shown {
		a.Shown = append(a.Shown, s.config.Show(id, c.Parts))
	}
	return encodeHome(a), nil
}

// vouch notes that a host is to be notified of the end of a session, and returns what is known of the session. The note
// comes first: an end either finds the note, or has removed the session before the look.
func (s *Set) vouch(id shard.SessionID, from shard.HostID) shard.Liveness {
	home := s.Of(id.Slot())
	if !home.Here() {
		return shard.Unknown
	}
	home.guests.note(id, from)
	is := home.Machine.Liveness(id)
	if is == shard.Dead {
		home.guests.take(id)
	}
	return is
}

// lookUp answers a question about one session. If the session is not known, the answer is behind a barrier.
func (s *Set) lookUp(ctx context.Context, from shard.HostID, q *askedSession) (one HomeSession) {
	home := s.Of(q.ID.Slot())
	look := func() bool {
		view, known := home.Machine.Session(q.ID)
		if known {
			one = HomeSession{shard.Alive, view.Node, home.Machine.KeyMatches(q.ID, q.Key)}
		}
		return known
	}
	switch s.vouch(q.ID, from) {
	case shard.Dead:
		return HomeSession{Liveness: shard.Dead}
	case shard.Alive:
		if look() {
			return one
		}
	}
	if !home.Holds() {
		return one
	}
	sure := make(chan bool, 1)
	home.Confirm(func(ok, _ bool) { sure <- ok })
	select {
	case ok := <-sure:
		if ok && !look() {
			one.Liveness = shard.Dead
		}
	case <-ctx.Done():
	}
	return one
}
