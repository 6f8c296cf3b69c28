package simulation_test

import (
	"bytes"
	"sync"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/process"
	"github.com/signalbox/signalbox/test/simulation"
)

// processes creates a one-minute world whose clients are process members from the start.
func processes(p *simulation.Plan) {
	p.Rollouts, p.Processes, p.Operator = 0, 1, true
	p.Upgrades, p.Quotas, p.Length = nil, shard.Limits{}, time.Minute
}

// processesElsewhere creates a world in which processes and some members' sessions are in different shards, and these
// members die.
func processesElsewhere(p *simulation.Plan) {
	processes(p)
	p.Shards, p.Faults = 2, nil
	for at := 5 * time.Second; at < p.Length; at += 5 * time.Second {
		p.Faults = append(p.Faults, simulation.Fault{
			Kind: simulation.ClientDeath, At: at, For: time.Second, Client: len(p.Faults) % len(p.Clients),
		})
	}
}

// altered changes every one-th command with the given kind.
func altered(of shard.CommandKind, one int, alter func(*shard.Command)) func() *simulation.Bug {
	return func() *simulation.Bug {
		var mu sync.Mutex
		count := 0
		return withCommand(of, func(c *shard.Command) {
			mu.Lock()
			defer mu.Unlock()
			if count++; count%one == 0 {
				alter(c)
			}
		})
	}
}

// restartsByAcks turns every 20th acknowledgement into a restart.
func restartsByAcks() *simulation.Bug {
	return altered(shard.CmdInboxAck, 20, func(c *shard.Command) {
		c.Kind, c.Order, c.Count = shard.CmdProcessAct, 0, 0
		act := kind.Action{Kind: kind.ActionRestart, By: kind.ChangeInfo{Author: "none", Reason: "none"}}
		c.Body = process.Append(nil, &act)
	})()
}

// kicksRestart turns evictions into restarts.
func kicksRestart() *simulation.Bug {
	return withCommand(shard.CmdProcessAct, func(c *shard.Command) {
		if a, err := process.Parse[kind.Action](c.Body, "an act"); err == nil && a.Kind == kind.ActionEvict {
			a.Kind, a.MemberID = kind.ActionRestart, 0
			c.Body = process.Append(nil, &a)
		}
	})
}

// observersByChance turns every third candidate into an observer.
func observersByChance() *simulation.Bug {
	return altered(shard.CmdProcessJoin, 3, func(c *shard.Command) {
		if a, err := process.Parse[kind.Arrival](c.Body, "a joining"); err == nil {
			a.Candidate = false
			c.Body = process.Append(nil, &a)
		}
	})()
}

// gathering creates a world with processes, one of which opens epochs only with the last required member.
func gathering(p *simulation.Plan) {
	processes(p)
	p.Gathers = true
}

// fewAreEnough opens epochs with a single member, however many are required.
func fewAreEnough() *simulation.Bug {
	return withLog(func(l *faultyLog) {
		l.alter = func(c *shard.Command) {
			switch c.Kind {
			case shard.CmdProcessPut:
				if p, err := process.Parse[kind.Put](c.Body, "a spec"); err == nil {
					p.Spec.MinMembers = 1
					c.Body = process.Append(nil, &p)
				}
			case shard.CmdProcessJoin:
				if a, err := process.Parse[kind.Arrival](c.Body, "a joining"); err == nil {
					a.Spec.MinMembers = 1
					c.Body = process.Append(nil, &a)
				}
			}
		}
	})
}

// previousData gives every one-th command with the given kind the previous command's data.
func previousData(of shard.CommandKind, one int) func() *simulation.Bug {
	return func() *simulation.Bug {
		var mu sync.Mutex
		var before []byte
		count := 0
		return withCommand(of, func(c *shard.Command) {
			mu.Lock()
			defer mu.Unlock()
			old := before
			before = bytes.Clone(c.Data)
			if count++; count%one == 0 && old != nil {
				c.Data = old
			}
		})
	}
}

// pushEncoder encodes all pushes.
func pushEncoder() *protocol.Encoder {
	e, kinds := protocol.NewEncoder(), protocol.PushKinds()
	e.Understands(protocol.ReadKinds(&kinds))
	return e
}

// onInboxes changes pushed inbox items. If change returns false, the push is lost.
func onInboxes(change func(m *protocol.Inbox, items []protocol.Item) (on bool)) *simulation.Bug {
	return withInterceptor(func() *interceptor {
		encoder := pushEncoder()
		return &interceptor{answer: func(a *protocol.Answer, frame []byte) []byte {
			if a.Kind != protocol.KindInbox || a.Inbox.End.Status != protocol.StatusSuccess {
				return frame
			}
			push := a.Inbox
			var items []protocol.Item
			for i := range push.Items.All() {
				items = append(items, i)
			}
			if !change(&push, items) {
				return nil
			}
			push.Items = protocol.Items{}
			for _, i := range items {
				push.Items.Append(i)
			}
			var buf bytebufferpool.ByteBuffer
			encoder.Push(&buf, a.ID, &push)
			return buf.B
		}}
	})
}

// lostItems loses every one-th push.
func lostItems(one int) func() *simulation.Bug {
	return func() *simulation.Bug {
		var mu sync.Mutex
		count := 0
		return onInboxes(func(*protocol.Inbox, []protocol.Item) bool {
			mu.Lock()
			defer mu.Unlock()
			count++
			return count%one != 0
		})
	}
}

// repeatedItems occasionally repeats the previous request to a member instead of the next request in the same epoch.
func repeatedItems() *simulation.Bug {
	var mu sync.Mutex
	before, count := make(map[uint64]protocol.Item), 0 // by member
	return onInboxes(func(m *protocol.Inbox, items []protocol.Item) bool {
		mu.Lock()
		defer mu.Unlock()
		for k := range items {
			i := &items[k]
			if i.Kind != kind.ItemRequest {
				continue
			}
			old, ok := before[m.MemberID]
			if count++; ok && old.Epoch == i.Epoch && count%10 == 0 {
				old.Seq = i.Seq
				*i = old
			}
			old = *i
			old.Payload = bytes.Clone(i.Payload)
			before[m.MemberID] = old
		}
		return true
	})
}

// otherCoordinators lets every third prepare name the member itself as the coordinator.
func otherCoordinators() *simulation.Bug {
	return onInboxes(func(m *protocol.Inbox, items []protocol.Item) bool {
		for k := range items {
			if i := &items[k]; i.Kind == kind.ItemPrepare && m.MemberID%3 == 0 {
				i.Coordinator = m.MemberID
			}
		}
		return true
	})
}

// falseEnds occasionally reports to a member that its membership ended.
func falseEnds() *simulation.Bug {
	var mu sync.Mutex
	count := 0
	return withInterceptor(func() *interceptor {
		encoder := pushEncoder()
		return &interceptor{answer: func(a *protocol.Answer, frame []byte) []byte {
			mu.Lock()
			defer mu.Unlock()
			if a.Kind != protocol.KindInbox {
				return frame
			}
			if count++; count%50 != 0 {
				return frame
			}
			push := a.Inbox
			push.Items, push.End.Status = protocol.Items{}, protocol.StatusNotFound
			var buf bytebufferpool.ByteBuffer
			encoder.Push(&buf, a.ID, &push)
			return buf.B
		}}
	})
}

// failuresAreReplies lets a client send failures as replies.
func failuresAreReplies() *simulation.Bug {
	return onRequests(protocol.KindProcessReply, func(r *protocol.Request) protocol.RequestMessage {
		m := r.ProcessReply
		m.Failed = false
		return &m
	})
}

// broadcastsLeaveOneOut makes clients address all other members explicitly instead of all members.
func broadcastsLeaveOneOut() *simulation.Bug {
	return onRequests(protocol.KindProcessSend, func(r *protocol.Request) protocol.RequestMessage {
		m := r.ProcessSend
		if m.Audience == kind.ToAll {
			m.Audience = kind.ToOthers
		}
		return &m
	})
}

// onRequests changes client requests.
func onRequests(kind protocol.Kind, change func(*protocol.Request) protocol.RequestMessage) *simulation.Bug {
	return withInterceptor(func() *interceptor {
		encoder := protocol.NewEncoder()
		return &interceptor{request: func(r *protocol.Request, frame []byte) (on, back []byte) {
			if r.Kind != kind {
				return frame, nil
			}
			return encodeRequest(encoder, r.ID, change(r)), nil
		}}
	})
}
