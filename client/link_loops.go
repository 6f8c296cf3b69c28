package client

import (
	"runtime"

	"github.com/signalbox/signalbox/protocol"
)

// write sends what is in the buffer whenever it is told to, until the link is down.
func (l *link) write() {
	for {
		select {
		case <-l.wake:
			// Those whose answers came together send their next requests together: let them, before one of
			// those is written alone. Where nobody else has anything to do this costs next to nothing.
			runtime.Gosched()
			l.flush()
		case <-l.down:
			return
		}
	}
}

// flush writes all that is in the buffer, at once. Where somebody else is writing it leaves that to the writer.
func (l *link) flush() {
	l.mu.Lock()
	full, next := l.out, l.spare
	if next == nil || len(full.B) == 0 || l.err != nil {
		l.mu.Unlock()
		return
	}
	l.out, l.spare = next, nil
	l.mu.Unlock()
	_, err := l.conn.Write(full.B)
	full.Reset()
	if cap(full.B) > keptBuffer {
		full.B = nil
	}
	l.mu.Lock()
	l.spare = full
	if len(l.out.B) > 0 {
		l.nudge()
	}
	l.mu.Unlock()
	if err != nil {
		l.fail(err)
	}
}

// deliver gives a message to the request that it belongs to.
func (l *link) deliver(a *protocol.Answer) {
	l.mu.Lock()
	h := l.handlers[a.ID]
	if !moreFollows(a) {
		delete(l.handlers, a.ID)
	}
	if a.Kind.IsAnswer() {
		l.open--
		l.answeredAlone = a.ID == l.alone
		l.admit()
	}
	l.mu.Unlock()
	if h != nil {
		h.answered(l, a)
	}
}

// admit sends what was held back and fits now. The lock is held.
func (l *link) admit() {
	for len(l.held) > 0 && l.open < l.room(0) {
		l.out.B = append(l.out.B, l.held[0].frame...)
		l.held[0] = heldRequest{}
		l.held = l.held[1:]
		l.open++
		l.nudge()
	}
}

// moreFollows tells whether the request id of a message stays in use after it.
func moreFollows(a *protocol.Answer) bool {
	switch a.Kind {
	case protocol.KindAcquire.Answer():
		return a.Result.Status == protocol.StatusSuccess && a.Acquire.Outcome == protocol.Queued
	case protocol.KindSemaphoreDescribe.Answer():
		return a.Result.Status == protocol.StatusSuccess && a.SemaphoreDescribe.WatchAdded
	case protocol.KindWatch.Answer():
		return a.Result.Status == protocol.StatusSuccess
	case protocol.KindWatchSnapshot, protocol.KindWatchDelta, protocol.KindWatchResync:
		return true
	}
	return false
}

// told deals with a push that belongs to no request.
func (l *link) told(a *protocol.Answer) {
	switch a.Kind {
	case protocol.KindSessionDetached:
		if x := l.life(a.SessionDetached.SessionID); x != nil {
			x.detached(l, &a.SessionDetached.Result)
		}
	case protocol.KindSessionEnded:
		if x := l.life(a.SessionEnded.SessionID); x != nil {
			x.over(endReason(a.SessionEnded.Reason), "")
		}
	case protocol.KindHoldingLost:
		if x := l.life(a.HoldingLost.SessionID); x != nil {
			x.holdingLost(&a.HoldingLost)
		}
	case protocol.KindRoutingChanged:
		l.client.cluster.changed(a.RoutingChanged.Version, l)
	case protocol.KindGoingAway:
		err := a.GoingAway.Result.Err()
		if err == nil {
			err = ErrUnavailable
		}
		l.host.avoid(l, err)
		l.fail(err)
	}
}

// life returns the session that has a part in this link.
func (l *link) life(id uint64) *life {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lives[id]
}

func endReason(r protocol.EndReason) EndReason {
	switch r {
	case protocol.EndStopped:
		return EndClosed
	case protocol.EndExpired:
		return EndExpired
	case protocol.EndDestroyed:
		return EndDestroyed
	case protocol.EndNodeDropped:
		return EndNodeDropped
	}
	return EndUnknown
}
