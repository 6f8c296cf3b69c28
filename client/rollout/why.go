package rollout

import (
	"context"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// StopReason is why something of a rollout does not move.
type StopReason struct {
	// Code is for programs, Text for people; Text says all of the rest.
	Code string
	Text string
	// Location is empty for the whole rollout.
	Location string
	// Blocked: neither time nor the instances that are there can do away with it.
	Blocked bool
	Seq     uint64 // the version that it is about
	// Waiting of Of leaders have not reached the target; Named are the first of them.
	Waiting int
	Of      int
	Named   []string
	Since   Moment
	// Left is after which time it ends by itself; 0 is not known.
	Left time.Duration
}

// The codes of reasons.
const (
	ReasonHalted        = "halted"
	ReasonPaused        = "paused"
	ReasonLeaders       = "leaders"         // leaders have not reached the target
	ReasonNoInstances   = "no-instances"    // a version is there, and no instance has ever asked
	ReasonNoLeaders     = "no-leaders"      // no leader has a session
	ReasonFewLeaders    = "few-leaders"     // fewer leaders than are required
	ReasonGate          = "gate"            // a gate is not passed
	ReasonNoAlternative = "no-alternative"  // the target is of no use, and there is no other version
	ReasonNoSource      = "no-source"       // a version is wanted, and there is no source
	ReasonSource        = "source"          // a source was asked and has not answered
	ReasonDelay         = "delay"           // a version is not old enough in the location before
	ReasonInterval      = "reelection-wait" // the last choice of another version was too recently
	ReasonBack          = "back"            // it goes back after the location before it
	ReasonBypassed      = "bypassed"        // an operator took the location out of the order
	ReasonStuck         = "stuck"           // the progress deadline has passed
)

// Why returns why the rollout does not move, with the names of those that it waits for; nothing where it is idle.
func (r *Rollout) Why(ctx context.Context, options ...ReadOption) ([]StopReason, error) {
	s, err := r.Describe(ctx, append(options[:len(options):len(options)], WithReasons())...)
	if err != nil {
		return nil, err
	}
	return s.Reasons, nil
}

func reasonOf(m *protocol.Reason, now clock) StopReason {
	r := StopReason{
		Code: string(m.Code), Text: string(m.Text), Location: string(m.Location), Blocked: m.Blocked, Seq: m.Seq,
		Waiting: int(m.Waiting), Of: int(m.Of), Since: now.Moment(m.Since, 0), Left: now.Until(m.Until),
	}
	for name := range m.Named.All() {
		r.Named = append(r.Named, string(name))
	}
	return r
}
