package process

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	processkind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
)

// heavyProcess creates a process with the maximum number of members, and returns a command that affects all members.
type heavyProcess struct {
	name  string
	spec  func(*processkind.Spec)
	make  func(r *round) shard.Command
	lost  int // count of members notified that their membership has ended
	inbox int // how many have something new to handle
}

var heavyProcesses = []heavyProcess{
	{
		name: "a request to all", inbox: processkind.MaxMembers,
		make: func(r *round) shard.Command { return r.requestToAll(1024) },
	}, {
		name: "the end of a round with a request to each", inbox: processkind.MaxMembers,
		make: func(r *round) shard.Command {
			r.fillInboxes()
			r.restart()
			return r.dueIn(10)
		},
	}, {
		name: "the completion of such a round", inbox: processkind.MaxMembers,
		make: func(r *round) shard.Command {
			r.fillInboxes()
			return r.Next(0, shard.Command{
				Kind: shard.CmdProcessComplete, Name: []byte("p"), Order: r.members[0], Term: r.epoch(),
				Data: make([]byte, processkind.MaxPayload),
			})
		},
	}, {
		name: "as many members as there may be do not reply", lost: processkind.MaxMembers - 1,
		spec: func(s *processkind.Spec) { s.ReplyTimeout, s.OnTimeout = time.Second, processkind.TimeoutEvict },
		make: func(r *round) shard.Command {
			r.reply(0, r.broadcast(0, processkind.ToAll, ""), "")
			return r.dueIn(1100)
		},
	}, {
		name: "the joining of the last member of a full process", inbox: processkind.MaxMembers,
		spec: func(s *processkind.Spec) { s.MinMembers = processkind.MaxMembers },
		make: func(r *round) shard.Command {
			last := len(r.members) - 1
			r.As(last, shard.Command{Kind: shard.CmdProcessLeave, Name: []byte("p"), Order: r.members[last]})
			return r.Next(last, shard.Command{
				Kind: shard.CmdProcessJoin, Name: []byte("p"),
				Body: Append(nil, &processkind.Arrival{Joining: processkind.Joining{Name: "m"}}),
			})
		},
	}, {
		name: "the deletion", lost: shard.MaxWork,
		make: func(r *round) shard.Command {
			return shard.Command{Kind: shard.CmdProcessDelete, Node: 1, Name: []byte("p"), Flags: shard.FlagForce}
		},
	}, {
		name: "the end of all their sessions",
		make: func(r *round) shard.Command {
			return shard.Command{Kind: shard.CmdSessionsExpire, Term: 1, Sessions: r.IDs}
		},
	}, {
		name: "the last reply of all, whose sender gets it in parts", inbox: 1,
		make: func(r *round) shard.Command {
			exchange, last := r.broadcast(0, processkind.ToAll, ""), len(r.members)-1
			for i := range last {
				r.reply(i, exchange, strings.Repeat("r", 4000))
			}
			return r.Next(last, shard.Command{
				Kind: shard.CmdProcessReply, Name: []byte("p"), Order: r.members[last], Term: r.epoch(),
				Timeout: exchange,
			})
		},
	},
}

func (r *round) requestToAll(bytes int) shard.Command {
	body := AppendReceivers(nil, Request{Audience: processkind.ToAll})
	return r.Next(0, shard.Command{
		Kind: shard.CmdProcessSend, Name: []byte("p"), Body: body, Order: r.members[0], Term: r.epoch(),
		Data: make([]byte, bytes),
	})
}

// fillInboxes sends almost the maximum request count and bytes to all.
func (r *round) fillInboxes() {
	for range maxRequests / processkind.MaxMembers {
		r.Do(r.requestToAll(processkind.MaxPayload))
	}
}

// dueIn advances time, and returns the command that executes everything due.
func (r *round) dueIn(millis uint64) shard.Command {
	r.now += millis
	r.One.Stamp.Elapsed = r.now
	return shard.Command{Kind: shard.CmdDue, Term: 1}
}

func (h *heavyProcess) prepare(t testing.TB) (*round, shard.Command) {
	spec := processSpec
	if h.spec != nil {
		h.spec(&spec)
	}
	r := running(t, processkind.MaxMembers, spec)
	c := h.make(r)
	c.Level = r.At
	return r, c
}

// TestNoCommandOnAProcessTouchesMoreLinksThanItMay: with the maximum member count, even if other processes are due in
// the same command.
func TestNoCommandOnAProcessTouchesMoreLinksThanItMay(t *testing.T) {
	for _, h := range heavyProcesses {
		t.Run(h.name, func(t *testing.T) {
			r, c := h.prepare(t)
			r.Do(c)
			if core(r.M).Run.Touched > shard.MaxTouched || core(r.M).Run.Touched < h.lost+h.inbox {
				t.Errorf("%d links are touched", core(r.M).Run.Touched)
			}
			if e := r.Result(); e.Status != protocol.StatusSuccess {
				t.Errorf("%v %s", e.Status, e.Body)
			}
			if lost, inbox := len(r.effects(shard.EffectLost)), len(r.effects(shard.EffectInbox)); lost != h.lost ||
				inbox != h.inbox {
				t.Errorf("%d have lost, %d have something to handle", lost, inbox)
			}
			for _, e := range r.Out.List {
				if e.Kind == shard.EffectLost && (e.Object != shard.KindProcess || e.Body == "") {
					t.Fatalf("%+v", e)
				}
			}
		})
	}
}

// TestProcessesThatAreDueAreSharedOut: work beyond one command's limit is left to the next command.
func TestProcessesThatAreDueAreSharedOut(t *testing.T) {
	const processes, members = 5, 900
	r := &round{Bed: machinetest.NewAt(empty(), level.Newest, members), t: t}
	r.Do(shard.Command{Kind: shard.CmdLead, Term: 1})
	for k := range processes {
		for i := range members {
			r.As(i, shard.Command{
				Kind: shard.CmdProcessJoin, Name: fmt.Appendf(nil, "p%d", k),
				Body: Append(nil, &processkind.Arrival{
					Joining: processkind.Joining{Name: "m", Candidate: true}, Create: true, Spec: processSpec,
				}),
			})
		}
	}
	var opened []int
	for c := r.dueIn(10); ; {
		r.Do(c)
		opened = append(opened, len(r.effects(shard.EffectInbox))/members)
		if core(r.M).Run.Touched > shard.MaxTouched {
			t.Errorf("%d links are touched", core(r.M).Run.Touched)
		}
		if r.Result().Flags&shard.FlagMore == 0 {
			break
		}
	}
	if !slices.Equal(opened, []int{2, 2, 1}) || CountsOf(r.M).Epochs != processes {
		t.Errorf("in each command so many epochs open: %v", opened)
	}
}

// TestASnapshotEncodesWhatWaitsOutsideOfTheLock: during a snapshot save a command encodes little for each changed item,
// however full the inboxes are, and the snapshot has the earlier state.
func TestASnapshotEncodesWhatWaitsOutsideOfTheLock(t *testing.T) {
	const mostOfOne = 200 // bytes per session, or per member without its inbox
	for _, h := range heavyProcesses {
		t.Run(h.name, func(t *testing.T) {
			r, c := h.prepare(t)
			want := r.M.Digest()
			sn := machinetest.Prepare(t, r.M)
			r.Do(c)
			encoded, things := machinetest.Encoded(sn)
			if encoded > things*mostOfOne {
				t.Errorf("%d bytes of %d things are encoded", encoded, things)
			}
			copied := empty()
			if err := copied.Restore(bytes.NewReader(machinetest.Save(t, sn))); err != nil || copied.Digest() != want {
				t.Error("the snapshot is of another moment")
			}
		})
	}
}

// BenchmarkWorstProcessCommands: how long the machine is blocked, also during a snapshot save, which must preserve the
// whole process.
func BenchmarkWorstProcessCommands(b *testing.B) {
	for _, h := range heavyProcesses {
		for _, saved := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/saved=%v", strings.ReplaceAll(h.name, ",", ""), saved), func(b *testing.B) {
				worst := time.Duration(0)
				for b.Loop() {
					b.StopTimer()
					r, c := h.prepare(b)
					if saved {
						machinetest.Prepare(b, r.M)
					}
					b.StartTimer()
					began := time.Now()
					r.Do(c)
					worst = max(worst, time.Since(began))
				}
				b.ReportMetric(float64(worst.Microseconds())/1000, "worst-ms")
			})
		}
	}
}
