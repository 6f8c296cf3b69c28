package hosts

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// HoldMillis is the time after which a backup's hold of slot moves ends, unless the backup renews the hold.
const HoldMillis = 60_000

// MovesHold is a backup's hold: no slot begins to move before Until. If several backups are saved at once, the record
// names the backup that has renewed the hold last.
type MovesHold struct {
	By    string
	Until uint64 // shard time
}

// MovesHeld returns the hold in force, or nil.
func (r *Records) MovesHeld(now uint64) *MovesHold {
	if now >= r.held.Until {
		return nil
	}
	held := r.held
	return &held
}

// MovesInProgress returns the number of attempts to move a slot whose outcome is not on record.
func (r *Records) MovesInProgress() (n int) {
	for _, o := range r.orders {
		n += count(o.Into != 0)
	}
	return n
}

// HoldMoves begins or renews the hold of a backup, as reported by a host. Attempts in progress continue.
func (r *Records) HoldMoves(at At, from shard.HostID, i Incarnation) Answer {
	if a := r.reports(from, i); a.Text != "" {
		return a
	}
	r.held = MovesHold{By: codec.Cut(at.By, MaxText), Until: clock.Moment(at.Now) + HoldMillis}
	r.revision++
	return Answer{}
}

// ReleaseMoves ends the hold, unless another backup has renewed the hold.
func (r *Records) ReleaseMoves(at At) {
	if r.held.By == codec.Cut(at.By, MaxText) && r.held.Until != 0 {
		r.held = MovesHold{}
		r.revision++
	}
}

// reports refuses a report by a host whose incarnation is not the one on record.
func (r *Records) reports(from shard.HostID, i Incarnation) Answer {
	if h := r.Host(from); h == nil || h.Incarnation != i {
		return refuse(protocol.StatusNotFound, "there is no host %d with incarnation %v", from, i)
	}
	return Answer{}
}

func (mh *MovesHold) code(c *codec.Coder) {
	c.Text(&mh.By, MaxText)
	c.Number(&mh.Until)
}
