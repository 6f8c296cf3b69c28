package simulation_test

import (
	"sync"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/rollout"
	"github.com/signalbox/signalbox/test/simulation"
)

// rollouts creates a one-minute world whose clients work with rollouts from the start.
func rollouts(p *simulation.Plan) {
	p.Rollouts, p.Upgrades, p.Quotas, p.Length = 1, nil, shard.Limits{}, time.Minute
}

// rolloutsInTurn creates a world with rollouts whose hosts lead in turn.
func rolloutsInTurn(p *simulation.Plan) {
	elections(p)
	rollouts(p)
}

// rolloutsOverBadLines creates a world with rollouts and frequently lost answers.
func rolloutsOverBadLines(p *simulation.Plan) {
	rollouts(p)
	p.Faults = nil
	for at := 2 * time.Second; at < p.Length; at += 300 * time.Millisecond {
		p.Faults = append(p.Faults, simulation.Fault{
			Kind: simulation.CutHost, At: at, Host: shard.HostID(1 + len(p.Faults)%p.Hosts),
		})
	}
}

// rolloutsElsewhere creates a world with rollouts in a different shard than the sessions of some instances.
func rolloutsElsewhere(p *simulation.Plan) {
	rollouts(p)
	p.Shards = 2
}

// delayFromAssigned: a delay counts from the preceding location's assignment instead of its reached time.
func delayFromAssigned() *simulation.Bug {
	return withCommand(shard.CmdRolloutPut, func(c *shard.Command) {
		if p, err := rollout.Parse[kind.Put](c.Body, "a put"); err == nil {
			p.Spec.DelayFrom = kind.FromAssigned
			c.Body = rollout.Append(nil, &p)
		}
	})
}

// halfDelays: delays are half as long as asked.
func halfDelays() *simulation.Bug {
	return withCommand(shard.CmdRolloutPut, func(c *shard.Command) {
		if p, err := rollout.Parse[kind.Put](c.Body, "a put"); err == nil {
			for i := range p.Spec.Locations {
				p.Spec.Locations[i].Delay /= 2
			}
			c.Body = rollout.Append(nil, &p)
		}
	})
}

// failuresReach: a failure without a code counts as reached if another instance has reached the target before.
func failuresReach() *simulation.Bug {
	type target struct {
		rollout    string
		generation uint64
	}
	var mu sync.Mutex
	reached := make(map[target]uint64) // the seqs
	return withCommand(shard.CmdRolloutReport, func(c *shard.Command) {
		mu.Lock()
		defer mu.Unlock()
		r, err := rollout.ParseReport(c.Body)
		t := target{string(c.Name), r.Generation}
		switch {
		case err != nil:
		case r.Status == kind.OK:
			reached[t] = r.Current
		case r.Status == kind.Failed && r.Code == "" && reached[t] != 0:
			r.Status, r.Current = kind.OK, reached[t]
			c.Body = rollout.AppendReport(nil, r)
		}
	})
}

// gatesOpen: every verdict passes.
func gatesOpen() *simulation.Bug {
	return withCommand(shard.CmdRolloutGate, func(c *shard.Command) {
		if v, err := rollout.Parse[kind.GateReport](c.Body, "a verdict"); err == nil {
			v.Verdict.Result = kind.GatePassed
			c.Body = rollout.Append(nil, &v)
		}
	})
}

// leadersFollow: every third instance that becomes a leader does not count.
func leadersFollow() *simulation.Bug {
	var mu sync.Mutex
	count := 0
	return withCommand(shard.CmdRolloutRole, func(c *shard.Command) {
		mu.Lock()
		defer mu.Unlock()
		if count++; count%3 == 0 {
			c.Count = 0
		}
	})
}

// otherAct replaces an action by a different action with the same reason.
func otherAct(of, by kind.ActionKind) func() *simulation.Bug {
	return func() *simulation.Bug {
		return withCommand(shard.CmdRolloutAct, func(c *shard.Command) {
			if a, err := rollout.Parse[kind.Action](c.Body, "an act"); err == nil && a.Kind == of {
				a.Kind = by
				c.Body = rollout.Append(nil, &a)
			}
		})
	}
}

// publishTwice: a repeated publish creates another version.
func publishTwice() *simulation.Bug {
	return sentAgain(shard.CmdRolloutPublish, func(c *shard.Command) { c.Session, c.Number, c.Acked = 0, 0, 0 })
}

// offerTwice: a source's repeated answer creates another version, whatever the state of its ticket.
func offerTwice() *simulation.Bug {
	return sentAgain(shard.CmdRolloutOffer, func(c *shard.Command) {
		if o, err := rollout.Parse[kind.Offering](c.Body, "an offering"); err == nil && !o.Declined {
			c.Kind, c.Body = shard.CmdRolloutPublish, rollout.Append(nil, &kind.Publication{Label: o.Label,
				By: kind.ChangeInfo{Author: o.Author}})
			c.Session, c.Number, c.Acked = 0, 0, 0
		}
	})
}

// sentAgain changes repeated commands of a kind.
func sentAgain(kind shard.CommandKind, alter func(*shard.Command)) *simulation.Bug {
	type number struct {
		session shard.SessionID
		number  uint64
	}
	var mu sync.Mutex
	seen := make(map[number]bool)
	return withCommand(kind, func(c *shard.Command) {
		mu.Lock()
		defer mu.Unlock()
		n := number{c.Session, c.Number}
		if seen[n] {
			alter(c)
		}
		seen[n] = true
	})
}

// swallowed answers every one-th report without executing it, as if it changed nothing.
func swallowed(one int) func() *simulation.Bug {
	return func() *simulation.Bug {
		return withInterceptor(func() *interceptor {
			encoder, count := protocol.NewEncoder(), 0
			return &interceptor{request: func(r *protocol.Request, frame []byte) (on, back []byte) {
				if r.Kind != protocol.KindRolloutReport {
					return frame, nil
				}
				if count++; count%one != 0 {
					return frame, nil
				}
				var buf bytebufferpool.ByteBuffer
				encoder.Answer(&buf, r.ID, &protocol.RolloutReportAnswer{})
				return encodeRequest(encoder, mine+r.ID, &protocol.Ping{}), buf.B
			}}
		})
	}
}

// oldTargets answers every fourth ask with the previous answer's target on the same connection, regardless of the
// instance.
func oldTargets() *simulation.Bug {
	return withInterceptor(func() *interceptor {
		encoder, count := protocol.NewEncoder(), 0
		var before protocol.RolloutTarget
		return &interceptor{answer: func(a *protocol.Answer, frame []byte) []byte {
			if a.Kind != protocol.KindRolloutPoll.Answer() || a.Result.Status != protocol.StatusSuccess {
				return frame
			}
			now := a.RolloutPoll.Target
			now.Label, now.Payload = append([]byte(nil), now.Label...), append([]byte(nil), now.Payload...)
			old := before
			before = now
			if count++; count%4 != 0 || old.Seq == 0 {
				return frame
			}
			var buf bytebufferpool.ByteBuffer
			encoder.Answer(&buf, a.ID, &protocol.RolloutPollAnswer{Target: old})
			return buf.B
		}}
	})
}

// lostTargets loses every third target change sent to watches.
func lostTargets() *simulation.Bug {
	return withInterceptor(func() *interceptor {
		count := 0
		return &interceptor{answer: func(a *protocol.Answer, frame []byte) []byte {
			var t protocol.RolloutTarget
			if a.Kind != protocol.KindWatchDelta || protocol.ReadRecord(a.WatchDelta.Data, &t, 0) != nil || t.Seq == 0 {
				return frame
			}
			if count++; count%3 == 0 {
				return nil
			}
			return frame
		}}
	})
}
