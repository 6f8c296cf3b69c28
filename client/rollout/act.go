package rollout

import (
	"context"

	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
)

// Act is what an operator does with a rollout, in whatever state it is. It is kept in the rollout, with who and why.
type Act struct {
	Verb Verb
	// Locations are those that it is about; none are all.
	Locations []string
	// Seq is the version that it is about, where it is about one.
	Seq uint64
	// Fast makes a roll-back reach all its locations at once.
	Fast bool
	By   By
}

// Verb is what an act does.
type Verb uint8

// The verbs. Created and Altered are in what Acts returns only.
const (
	Created  = Verb(protocol.VerbCreate)
	Altered  = Verb(protocol.VerbAlter)
	Pause    = Verb(protocol.VerbPause)
	Resume   = Verb(protocol.VerbResume)
	Promote  = Verb(protocol.VerbPromote)
	Abort    = Verb(protocol.VerbAbort)
	Rollback = Verb(protocol.VerbRollback)
	Bypass   = Verb(protocol.VerbBypass)
	Unbypass = Verb(protocol.VerbUnbypass)
	Withdraw = Verb(protocol.VerbWithdraw)
	Retry    = Verb(protocol.VerbRetry)
)

// String returns the verb in a word.
func (v Verb) String() string { return object.InWords(protocol.RolloutVerb(v).String()) }

// Act carries an act out. The methods that follow are the same, one for each verb.
func (r *Rollout) Act(ctx context.Context, act Act) error {
	return r.change(ctx, OpAct, func(k object.Key) (protocol.RequestMessage, *protocol.Mutation) {
		m := &protocol.RolloutAct{NodeID: k.Node, Name: k.Name, Act: act.message()}
		return m, &m.Mutation
	}, nil)
}

func (a *Act) message() protocol.Act {
	return protocol.Act{
		Verb: protocol.RolloutVerb(a.Verb), Locations: words(a.Locations), Seq: a.Seq, Fast: a.Fast,
		Author: protocol.View(a.By.Author), Reason: protocol.View(a.By.Reason),
	}
}

func actOf(m *protocol.Act) Act {
	return Act{
		Verb: Verb(m.Verb), Locations: texts(&m.Locations), Seq: m.Seq, Fast: m.Fast,
		By: By{string(m.Author), string(m.Reason)},
	}
}

// Pause keeps all targets as they are, until Resume. Promote, Abort and Rollback work meanwhile.
func (r *Rollout) Pause(ctx context.Context, by By) error {
	return r.Act(ctx, Act{Verb: Pause, By: by})
}

// Resume ends a pause, and a halt.
func (r *Rollout) Resume(ctx context.Context, by By) error {
	return r.Act(ctx, Act{Verb: Resume, By: by})
}

// Promote gives the version to the locations, or to all, without waiting for delays, gates and the locations before;
// with a seq of 0 each gets what it would get next if no delay were left. A location that has the version already
// counts as having reached it.
func (r *Rollout) Promote(ctx context.Context, by By, seq uint64, locations ...string) error {
	return r.Act(ctx, Act{Verb: Promote, By: by, Seq: seq, Locations: locations})
}

// Abort gives up all targets that are not reached, and halts the rollout. No target changes.
func (r *Rollout) Abort(ctx context.Context, by By) error {
	return r.Act(ctx, Act{Verb: Abort, By: by})
}

// Rollback lets the locations, or all, go back to a version: one after the other, in the order and with the delays of
// the rollout, or fast, all at once. They do not get the versions above it that there are now.
func (r *Rollout) Rollback(ctx context.Context, by By, seq uint64, fast bool, locations ...string) error {
	return r.Act(ctx, Act{Verb: Rollback, By: by, Seq: seq, Fast: fast, Locations: locations})
}

// Bypass takes the locations out of the order: they keep what they have, and the next ones follow those before them.
func (r *Rollout) Bypass(ctx context.Context, by By, locations ...string) error {
	return r.Act(ctx, Act{Verb: Bypass, By: by, Locations: locations})
}

// Unbypass puts the locations back into the order.
func (r *Rollout) Unbypass(ctx context.Context, by By, locations ...string) error {
	return r.Act(ctx, Act{Verb: Unbypass, By: by, Locations: locations})
}

// Withdraw has a version never chosen again. Targets of it that are not reached are given up.
func (r *Rollout) Withdraw(ctx context.Context, by By, seq uint64) error {
	return r.Act(ctx, Act{Verb: Withdraw, By: by, Seq: seq})
}

// Retry assigns targets of the locations, or of all, again that were given up, are stuck, or fail in some instance. It
// ends a halt.
func (r *Rollout) Retry(ctx context.Context, by By, locations ...string) error {
	return r.Act(ctx, Act{Verb: Retry, By: by, Locations: locations})
}
