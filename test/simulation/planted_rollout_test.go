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

// rollouts makes a world of a minute whose clients work with rollouts, from the beginning.
func rollouts(p *simulation.Plan) {
	p.Rollouts, p.Upgrades, p.Quotas, p.Length = 1, nil, shard.Limits{}, time.Minute
}

// rolloutsInTurn makes a world with rollouts whose hosts lead in turn.
func rolloutsInTurn(p *simulation.Plan) {
	elections(p)
	rollouts(p)
}

// rolloutsOverBadLines makes a world with rollouts in which answers get lost all the time.
func rolloutsOverBadLines(p *simulation.Plan) {
	rollouts(p)
	p.Faults = nil
	for at := 2 * time.Second; at < p.Length; at += 300 * time.Millisecond {
		p.Faults = append(p.Faults, simulation.Fault{
			Kind: simulation.CutHost, At: at, Host: shard.HostID(1 + len(p.Faults)%p.Hosts),
		})
	}
}

// rolloutsElsewhere makes a world with rollouts in another shard than the sessions of some instances.
func rolloutsElsewhere(p *simulation.Plan) {
	rollouts(p)
	p.Shards = 2
}

// delayFromAssigned: a delay counts from when the location before got the version, not from when it had reached it.
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

// failuresReach: an instance that fails without a code, where another one has reached the target before it, counts as
// having reached it too.
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

// leadersFollow: one of three instances that become leaders does not count.
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

// otherAct replaces an act by another one, which has the same reason.
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

// publishTwice: a version is published as often as it is sent.
func publishTwice() *simulation.Bug {
	return sentAgain(shard.CmdRolloutPublish, func(c *shard.Command) { c.Session, c.Number, c.Acked = 0, 0, 0 })
}

// offerTwice: the answer of a source makes a version as often as it is sent, whatever has become of its ticket.
func offerTwice() *simulation.Bug {
	return sentAgain(shard.CmdRolloutOffer, func(c *shard.Command) {
		if o, err := rollout.Parse[kind.Offering](c.Body, "an offering"); err == nil && !o.Declined {
			c.Kind, c.Body = shard.CmdRolloutPublish, rollout.Append(nil, &kind.Publication{Label: o.Label,
				By: kind.ChangeInfo{Author: o.Author}})
			c.Session, c.Number, c.Acked = 0, 0, 0
		}
	})
}

// sentAgain changes commands of a kind that were proposed before.
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

// swallowed answers one of so many reports and carries it not out, as a host would that takes one that changes
// something for one that changes nothing.
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

// oldTargets answers one of four asks with the target of the one before it over the same connection, whichever instance
// that was of.
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

// lostTargets loses one of three changes of targets that watches are sent.
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
