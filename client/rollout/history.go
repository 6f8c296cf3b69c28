package rollout

import (
	"context"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
)

// Row is one target in the history of a location.
type Row struct {
	Seq        uint64
	Generation uint64
	Assigned   Moment
	Reached    Moment
	Abandoned  Moment
	Cause      Cause
	// Waived: an operator said that it counts as reached.
	Waived bool
	// Note is who or what assigned it, or gave it up.
	Note string
}

// Cause says why a location got a target.
type Cause uint8

// The causes of targets.
const (
	CauseUnknown    = Cause(protocol.CauseUnknown)
	CauseBirth      = Cause(protocol.CauseBirth)      // its first
	CauseNext       = Cause(protocol.CauseNext)       // the one before was reached
	CauseReelection = Cause(protocol.CauseReelection) // instances could not use the one before
	CauseReplaced   = Cause(protocol.CauseReplaced)   // the one before was aborted or withdrawn
	CausePromote    = Cause(protocol.CausePromote)    // an operator's act, as are those below
	CauseRollback   = Cause(protocol.CauseRollback)
	CauseRetry      = Cause(protocol.CauseRetry)
)

// String returns the cause in a word.
func (c Cause) String() string { return object.InWords(protocol.TargetCause(c).String()) }

// PastAct is an act that was carried out.
type PastAct struct {
	Act
	Number uint64
	At     Moment
}

// History returns the targets that a location had, the oldest that is kept first.
func (r *Rollout) History(ctx context.Context, location string, options ...ReadOption) ([]Row, error) {
	return rows(ctx, r, "history/"+location, options, rowOf)
}

// Acts returns what operators did with the rollout, the oldest that is kept first.
func (r *Rollout) Acts(ctx context.Context, options ...ReadOption) ([]PastAct, error) {
	return rows(ctx, r, "acts", options, pastActOf)
}

func rowOf(m *protocol.TargetRow, now clock) Row {
	return Row{
		Seq: m.Seq, Generation: m.Generation,
		Assigned:  now.Moment(m.Assigned, m.AssignedWallMillis),
		Reached:   now.Moment(m.Reached, m.ReachedWallMillis),
		Abandoned: now.Moment(m.Abandoned, m.AbandonedWallMillis),
		Cause:     Cause(m.Cause), Waived: m.Waived, Note: string(m.Note),
	}
}

func pastActOf(m *protocol.RolloutActRow, now clock) PastAct {
	return PastAct{Act: actOf(&m.Act), Number: m.Number, At: now.Moment(m.Moment, m.WallMillis)}
}

// Moment is when something happened, by the time of the rollout's shard.
type Moment = client.Moment

type clock = object.Clock
