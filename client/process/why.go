package process

import (
	"context"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
)

// StopReason is why a round does not move.
type StopReason struct {
	// Code is for programs, Text for people; Text says all of the rest, with the names of members.
	Code string
	Text string
	// Blocked: neither time nor the members that are there can do away with it.
	Blocked bool
	Epoch   uint64
	// Exchange is the one that waits for replies, From its sender, or the coordinator.
	Exchange uint64
	From     uint64
	// Waiting of Of members are waited for; Named are the first of them.
	Waiting int
	Of      int
	Named   []uint64
	Since   client.Moment
	// Left is after which time it ends by itself; 0 is not known.
	Left time.Duration
	// Late: the reply timeout of the spec has passed.
	Late bool
}

// The codes of reasons.
const (
	ReasonNoMembers   = "no-members"
	ReasonFewMembers  = "few-members"  // fewer than an epoch has at the least
	ReasonNoCandidate = "no-candidate" // none of the members may coordinate
	ReasonOpening     = "opening"      // members or the spec have changed: the next epoch opens in a moment
	ReasonPrepare     = "prepare"      // members are not prepared
	ReasonReply       = "reply"        // members have not replied to a request
	ReasonCoordinator = "coordinator"  // the coordinator has neither completed the round nor waits for replies
	ReasonComplete    = "complete"     // the round is complete, and members have not handled that
)

// Why returns why the round does not move, with the names of those that it waits for; nothing where all is done.
func (p *Process) Why(ctx context.Context, options ...ReadOption) ([]StopReason, error) {
	s, err := p.Describe(ctx, append(options[:len(options):len(options)], WithReasons())...)
	if err != nil {
		return nil, err
	}
	return s.Reasons, nil
}

func reasonOf(m *protocol.ProcessReason, now object.Clock) StopReason {
	r := StopReason{
		Code: string(m.Code), Text: string(m.Text), Blocked: m.Blocked, Epoch: m.Epoch, Exchange: m.Exchange,
		From: m.From, Waiting: int(m.Waiting), Of: int(m.Of), Since: now.Moment(m.Since, 0), Left: now.Until(m.Until),
		Late: m.Late,
	}
	for id := range m.Named.All() {
		r.Named = append(r.Named, uint64(id))
	}
	return r
}
