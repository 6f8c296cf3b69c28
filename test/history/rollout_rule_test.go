package history_test

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/history"
)

var dns = history.Rollout{Node: "/jobs", Name: "dns"}

const (
	sas, man  = "sas", "man"
	inSas     = 1 // session and number of the instance in sas
	inMan     = 2
	manDelay  = 5 * time.Second
	sasTime   = history.Time(1010) // when sas was shown the first version
	manTime   = history.Time(8 * time.Second)
	sasMoment = 100 // by the shard, when sas got the first version
	manMoment = 8000
)

// rolledOut is a history in which a version was published, and reached in sas, and later in man; then something else
// happens.
func rolledOut(change func(*history.History)) *history.History {
	h := &history.History{
		Requests: []history.Request{
			request(history.Publish, 0, history.Request{Mark: "v1", Seq: 1}, 1000),
			leads(inSas, sas, 1001), leads(inMan, man, 1002),
			reach(inSas, sas, 1, 1, 1020), reach(inMan, man, 2, 1, manTime+10),
		},
		Targets: []history.Target{shownTarget(inSas, sas, 1, 1, sasTime), shownTarget(inMan, man, 2, 1, manTime)},
		Sessions: []history.Session{
			{ID: inSas, From: 900, To: history.Never}, {ID: inMan, From: 900, To: history.Never},
		},
		Rollouts: []history.RolloutFinal{{
			Rollout: dns, At: time.Hour, LastSeq: 1,
			Locations: []history.FinalLocation{
				{Name: sas, Leaders: 1, Targets: []history.FinalTarget{
					{Seq: 1, Generation: 1, Assigned: sasMoment, Reached: 110, Automatic: true, Cause: "initial"},
				}},
				{Name: man, Leaders: 1, Delay: manDelay, Targets: []history.FinalTarget{
					{Seq: 1, Generation: 2, Assigned: manMoment, Reached: 8010, Automatic: true, Cause: "initial"},
				}},
			},
			Acts:         []history.FinalAct{{Number: 1, Moment: 1, Verb: "create", Mark: "made"}},
			Versions:     []history.FinalVersion{{Seq: 1, Mark: "v1"}},
			Members:      []uint64{inSas, inMan},
			Participants: []history.Participant{{0, inSas, sas, inSas}, {0, inMan, man, inMan}},
		}},
	}
	change(h)
	return h
}

// request is a request at the given time.
func request(kind history.RequestKind, session uint64, r history.Request, at history.Time) history.Request {
	r.Kind, r.Rollout, r.Session, r.Called, r.Returned, r.Outcome = kind, dns, session, at, at+5, history.Done
	return r
}

func leads(session uint64, location string, at history.Time) history.Request {
	return request(history.Lead, session, history.Request{Location: location}, at)
}

func reach(session uint64, location string, generation, seq uint64, at history.Time) history.Request {
	return request(history.Reach, session,
		history.Request{Location: location, Generation: generation, Seq: seq}, at)
}

// act adds an action, both as a request and in the rollout's memory.
func act(h *history.History, verb string, a history.FinalAct, at history.Time) *history.Request {
	f := &h.Rollouts[0]
	a.Verb, a.Mark, a.Number = verb, verb+at.String(), uint64(len(f.Acts)+1)
	f.Acts = append(f.Acts, a)
	h.Requests = append(h.Requests, request(history.Act, 0,
		history.Request{Verb: verb, Mark: a.Mark, Locations: a.Locations, Seq: a.Seq}, at))
	return &h.Requests[len(h.Requests)-1]
}

func shownTarget(member int, location string, generation, seq uint64, at history.Time) history.Target {
	mark := map[uint64]string{1: "v1", 2: "v2"}[seq]
	return history.Target{
		Rollout: dns, Member: member, Location: location, Generation: generation, Seq: seq, Mark: mark, At: at,
	}
}

// second publishes a second version in sas, after the first.
func second(h *history.History) (inSasToo *history.FinalTarget) {
	f := &h.Rollouts[0]
	h.Requests = append(h.Requests, request(history.Publish, 0, history.Request{Mark: "v2", Seq: 2}, manTime+100),
		reach(inSas, sas, 3, 2, manTime+300))
	h.Targets = append(h.Targets, shownTarget(inSas, sas, 3, 2, manTime+200))
	f.Versions, f.LastSeq = append(f.Versions, history.FinalVersion{Seq: 2, Mark: "v2"}), 2
	targets := &f.Locations[0].Targets
	*targets = append(*targets, history.FinalTarget{
		Seq: 2, Generation: 3, Assigned: 9000, Reached: 9100, Automatic: true, Cause: "next",
	})
	f.Participants = f.Participants[:1] // man may stay behind
	f.Members = f.Members[:1]
	return &(*targets)[1]
}

// empty removes the sas instance before it reached a version, so man, with an instance, got no version.
func empty(change func(*history.RolloutFinal)) func(*history.History, *history.RolloutFinal) {
	return func(h *history.History, f *history.RolloutFinal) {
		h.Requests, h.Targets = h.Requests[:3], h.Targets[:1]
		f.Members, f.Participants = f.Members[1:], f.Participants[1:]
		f.Locations[0].Targets[0].Reached, f.Locations[1].Targets = 0, nil
		change(f)
	}
}

func TestRulesOfRollouts(t *testing.T) {
	for _, c := range []struct {
		name   string
		rule   string // broken rule; empty for none
		change func(h *history.History, f *history.RolloutFinal)
	}{
		{"all is well", "", func(*history.History, *history.RolloutFinal) {}},
		{"another version follows", "", func(h *history.History, _ *history.RolloutFinal) { second(h) }},

		{"an instance is shown an older target", "targets", func(h *history.History, _ *history.RolloutFinal) {
			h.Targets = append(h.Targets, shownTarget(inMan, man, 1, 1, manTime+1))
		}},
		{"a generation is another version for another instance", "targets",
			func(h *history.History, _ *history.RolloutFinal) {
				h.Targets = append(h.Targets, shownTarget(3, sas, 1, 2, manTime))
			}},
		{"a version is not what was published", "targets", func(h *history.History, _ *history.RolloutFinal) {
			h.Targets[1].Mark = "v7"
		}},
		{"a target is shown that the rollout never gave", "targets",
			func(h *history.History, _ *history.RolloutFinal) {
				h.Targets = append(h.Targets, shownTarget(inMan, man, 7, 1, manTime+1))
			}},
		{"a generation is given twice", "targets", func(_ *history.History, f *history.RolloutFinal) {
			f.Locations[1].Targets[0].Generation = 1
		}},
		{"a location goes back by itself", "targets", func(h *history.History, _ *history.RolloutFinal) {
			second(h).Seq = 0
		}},
		{"a location goes back by a roll-back", "", func(h *history.History, f *history.RolloutFinal) {
			second(h)
			act(h, "rollback", history.FinalAct{Moment: 9200, Seq: 1}, manTime+400)
			f.Participants, f.Members = nil, nil
			f.Locations[0].Targets = append(f.Locations[0].Targets, history.FinalTarget{
				Seq: 1, Generation: 4, Assigned: 9201, Cause: "rollback",
			})
			h.Targets = append(h.Targets, shownTarget(inSas, sas, 4, 1, manTime+500))
		}},

		{"what was published once is two versions", "published",
			func(_ *history.History, f *history.RolloutFinal) {
				f.Versions = append(f.Versions, history.FinalVersion{Seq: 2, Mark: "v1"})
			}},
		{"a publisher is answered another seq", "published", func(h *history.History, _ *history.RolloutFinal) {
			second(h)
			h.Rollouts[0].Versions[1].Seq = 3
		}},
		{"a version is lost", "published", func(h *history.History, _ *history.RolloutFinal) {
			second(h)
			h.Rollouts[0].Versions = h.Rollouts[0].Versions[:1]
		}},
		{"what was refused is shown", "published", func(h *history.History, f *history.RolloutFinal) {
			h.Requests[0].Outcome = history.Refused
			f.Versions = nil
		}},
		{"what was refused is there", "published", func(h *history.History, f *history.RolloutFinal) {
			refused := request(history.Publish, 0, history.Request{Mark: "no"}, 50)
			refused.Outcome = history.Refused
			h.Requests = append(h.Requests, refused)
			f.Versions = append(f.Versions, history.FinalVersion{Seq: 2, Mark: "no"})
		}},
		{"a version comes from nowhere", "published", func(_ *history.History, f *history.RolloutFinal) {
			f.Versions = append(f.Versions, history.FinalVersion{Seq: 2, Mark: "unheard"})
		}},
		{"an act is Success twice", "published", func(h *history.History, f *history.RolloutFinal) {
			act(h, "retry", history.FinalAct{Moment: 9000}, manTime+1)
			f.Acts = append(f.Acts, f.Acts[1])
		}},
		{"an act that was refused is Success", "published",
			func(h *history.History, _ *history.RolloutFinal) {
				act(h, "retry", history.FinalAct{Moment: 9000}, manTime+1).Outcome = history.Refused
			}},
		{"an act is another one", "published", func(h *history.History, f *history.RolloutFinal) {
			act(h, "retry", history.FinalAct{Moment: 9000}, manTime+1)
			f.Acts[1].Verb = "abort"
		}},
		{"an act is forgotten", "published", func(h *history.History, f *history.RolloutFinal) {
			act(h, "retry", history.FinalAct{Moment: 9000}, manTime+1)
			f.Acts = f.Acts[:1]
		}},
		{"a source is asked in vain", "published", func(h *history.History, f *history.RolloutFinal) {
			second(h)
			h.Requests = append(h.Requests, request(history.Offer, 7, history.Request{Mark: "vain", Seq: 3}, 50))
			f.Versions = append(f.Versions, history.FinalVersion{Seq: 3, Mark: "vain"})
			f.LastSeq = 5
		}},
		{"a source is asked for what an operator rolled back, long ago, and no other version comes", "converged",
			func(h *history.History, f *history.RolloutFinal) {
				second(h)
				h.Requests = append(h.Requests, request(history.Offer, 7, history.Request{Mark: "vain", Seq: 3}, 50),
					request(history.Act, 0, history.Request{Verb: "rollback", Mark: "back", Seq: 2}, 60))
				f.Versions = append(f.Versions, history.FinalVersion{Seq: 3, Mark: "vain"})
				f.LastSeq, f.Acts[0].Number = 5, 21
			}},

		{"a delay is shorter by the shard", "delays", func(_ *history.History, f *history.RolloutFinal) {
			f.Locations[1].Targets[0].Assigned = 5109
		}},
		{"a delay is as long as asked", "", func(_ *history.History, f *history.RolloutFinal) {
			f.Locations[1].Targets[0].Assigned = 5110
		}},
		{"a delay is shorter by the clock of instances", "delays",
			func(h *history.History, _ *history.RolloutFinal) {
				h.Targets[1].At = history.Time(4500 * time.Millisecond)
			}},
		{"an operator does not wait", "", func(h *history.History, f *history.RolloutFinal) {
			target := &f.Locations[1].Targets[0]
			h.Targets[1].At, target.Assigned = 2000, 200
			target.Automatic, target.Cause = false, "promote"
		}},
		{"a version comes that the location before never had", "delays",
			func(_ *history.History, f *history.RolloutFinal) { f.Locations[0].Targets[0].Seq = 3 }},
		{"a version comes from before a location that was bypassed", "",
			func(h *history.History, f *history.RolloutFinal) {
				vla := history.FinalLocation{Name: "vla", Delay: time.Second, Targets: f.Locations[1].Targets}
				f.Locations = []history.FinalLocation{f.Locations[0], {Name: man, Delay: manDelay}, vla}
				h.Targets[1].Location, h.Requests[2].Location, h.Requests[4].Location = "vla", "vla", "vla"
				f.Participants = f.Participants[:1]
				f.Members = f.Members[:1]
				act(h, "bypass", history.FinalAct{Moment: 50, Locations: []string{man}}, 1005)
			}},
		{"a version that was given up flows on", "delays", func(_ *history.History, f *history.RolloutFinal) {
			f.Locations[0].Targets[0].Abandoned = 7000
		}},
		{"a version that was withdrawn flows on", "delays", func(h *history.History, _ *history.RolloutFinal) {
			act(h, "withdraw", history.FinalAct{Moment: 7000, Seq: 1}, manTime-10)
		}},
		{"a version comes back after a roll-back", "delays", func(h *history.History, f *history.RolloutFinal) {
			second(h)
			act(h, "rollback", history.FinalAct{Moment: 9150, Seq: 1}, manTime+350)
			f.Locations[0].Targets = append(f.Locations[0].Targets, history.FinalTarget{
				Seq: 2, Generation: 4, Assigned: 9200, Automatic: true, Cause: "next",
			})
		}},
		{"a version comes back by a roll-back to a later one", "", func(h *history.History, f *history.RolloutFinal) {
			second(h)
			act(h, "rollback", history.FinalAct{Moment: 9150, Seq: 1}, manTime+350)
			act(h, "rollback", history.FinalAct{Moment: 9200, Seq: 2}, manTime+360)
			f.Locations[0].Targets = append(f.Locations[0].Targets, history.FinalTarget{
				Seq: 2, Generation: 4, Assigned: 9200, Reached: 9250, Automatic: true, Cause: "next",
			})
			h.Targets = append(h.Targets, shownTarget(inSas, sas, 4, 2, manTime+400))
			h.Requests = append(h.Requests, reach(inSas, sas, 4, 2, manTime+450))
		}},

		{"it moves in a pause", "pauses", func(h *history.History, _ *history.RolloutFinal) {
			act(h, "pause", history.FinalAct{Moment: 7000}, manTime-50)
			act(h, "resume", history.FinalAct{Moment: 9000}, manTime+50)
		}},
		{"what is published in a pause is shown", "pauses", func(h *history.History, _ *history.RolloutFinal) {
			act(h, "pause", history.FinalAct{Moment: 8500}, manTime+50)
			second(h)
		}},
		{"it moves after a pause", "", func(h *history.History, _ *history.RolloutFinal) {
			act(h, "pause", history.FinalAct{Moment: 8500}, manTime+50)
			act(h, "resume", history.FinalAct{Moment: 8600}, manTime+150)
			second(h)
		}},

		{"what no instance has reported is reached", "reached",
			func(h *history.History, _ *history.RolloutFinal) {
				h.Requests[4].Generation = 1
			}},
		{"what no checker has passed is reached", "reached",
			func(_ *history.History, f *history.RolloutFinal) { f.Locations[1].Gated = true }},
		{"what a checker has passed is reached", "", func(h *history.History, f *history.RolloutFinal) {
			f.Locations[1].Gated = true
			h.Requests = append(h.Requests,
				request(history.Judge, 9, history.Request{Location: man, Seq: 1, Passed: true}, manTime+5))
		}},
		{"the next version comes before the one before was reached", "reached",
			func(h *history.History, f *history.RolloutFinal) {
				second(h)
				f.Locations[0].Targets[0].Reached = 0
			}},
		{"the next version comes though a leader is behind", "reached",
			func(h *history.History, _ *history.RolloutFinal) {
				second(h)
				h.Sessions = append(h.Sessions, history.Session{ID: 3, From: 900, To: history.Never})
				h.Requests = append(h.Requests, leads(3, sas, 1003))
			}},
		{"the next version comes when the leader that is behind is gone", "",
			func(h *history.History, _ *history.RolloutFinal) {
				second(h)
				h.Sessions = append(h.Sessions, history.Session{ID: 3, From: 900, To: manTime})
				h.Requests = append(h.Requests, leads(3, sas, 1003))
			}},
		{"the next version comes when the shard of the leader that is behind was made anew", "",
			func(h *history.History, _ *history.RolloutFinal) {
				second(h)
				h.Sessions = append(h.Sessions, history.Session{ID: 3, From: 900, To: history.Never})
				h.Requests = append(h.Requests, leads(3, sas, 1003))
				h.Recoveries = []history.Recovery{recovery(shard.SlotOf(1, []byte(dns.Name)), manTime, manTime+50)}
			}},
		{"the next version comes when another shard was made anew", "reached",
			func(h *history.History, _ *history.RolloutFinal) {
				second(h)
				h.Sessions = append(h.Sessions, history.Session{ID: 3, From: 900, To: history.Never})
				h.Requests = append(h.Requests, leads(3, sas, 1003))
				h.Recoveries = []history.Recovery{recovery(1+shard.SlotOf(1, []byte(dns.Name)), manTime, manTime+50)}
			}},
		{"the next version comes when the leader that is behind follows", "",
			func(h *history.History, _ *history.RolloutFinal) {
				second(h)
				h.Sessions = append(h.Sessions, history.Session{ID: 3, From: 900, To: history.Never})
				h.Requests = append(h.Requests, leads(3, sas, 1003),
					request(history.Follow, 3, history.Request{Location: sas}, manTime))
			}},

		{"a location stays behind", "converged", func(h *history.History, f *history.RolloutFinal) {
			members, participants := f.Members, f.Participants
			second(h)
			f.Members, f.Participants = members, participants
		}},
		{"a target is not reached in the end", "converged", func(_ *history.History, f *history.RolloutFinal) {
			f.Locations[1].Targets[0].Reached = 0
		}},
		{"a location without instances holds up the next", "", empty(func(f *history.RolloutFinal) {})},
		{"a location without instances has all, and the next has not", "converged",
			empty(func(f *history.RolloutFinal) { f.Locations[0].Targets[0].Reached = 110 })},
		{"a location without instances is bypassed, and the next has not", "converged",
			empty(func(f *history.RolloutFinal) { f.Locations[0].Bypassed = true })},
		{"a session that is over is an instance", "converged",
			func(_ *history.History, f *history.RolloutFinal) { f.Members = append(f.Members, 3) }},
		{"an instance is none any more", "converged",
			func(_ *history.History, f *history.RolloutFinal) { f.Members = f.Members[:1] }},
		{"an instance misses a target", "converged", func(h *history.History, _ *history.RolloutFinal) {
			h.Targets = h.Targets[:1]
		}},
	} {
		found, _ := history.Check(rolledOut(func(h *history.History) { c.change(h, &h.Rollouts[0]) }))
		broken := make(map[string]bool)
		for _, f := range found {
			broken[f.Rule] = true
		}
		if c.rule == "" && len(found) > 0 || c.rule != "" && !broken[c.rule] {
			t.Errorf("%s: found %v, want %q", c.name, found, c.rule)
		}
	}
}

func TestAHistoryOfRolloutsIsReadAsItWasSaved(t *testing.T) {
	want := rolledOut(func(*history.History) {})
	r := newRecorder("a title")
	for i := range want.Requests {
		r.Add(history.Entry{Number: uint64(i + 1), Request: &want.Requests[i]})
	}
	for i := range want.Targets {
		r.Add(history.Entry{Target: &want.Targets[i]})
	}
	f := want.Rollouts[0]
	join := func(client int, p history.Participant) {
		r.Add(history.Entry{Client: client, Joined: &history.Joined{Rollout: dns, Participant: p}})
	}
	for _, p := range f.Participants {
		join(0, p)
		join(1, p)
	}
	r.ClientDied(1, 5)
	join(0, history.Participant{Member: 7, Session: 7})
	join(0, history.Participant{Member: 7})
	f.Participants = nil
	r.Rollout(f)
	r.Rollout(f)
	h := r.History()
	if len(h.Rollouts) != 1 || !reflect.DeepEqual(h.Rollouts[0].Participants, want.Rollouts[0].Participants) {
		t.Errorf("rollouts %+v", h.Rollouts)
	}
	if !reflect.DeepEqual(h.Requests, want.Requests) || !reflect.DeepEqual(h.Targets, want.Targets) {
		t.Errorf("requests %+v, targets %+v", h.Requests, h.Targets)
	}
	var file bytes.Buffer
	if err := h.Save(&file); err != nil {
		t.Fatal(err)
	}
	back, err := history.Load(&file)
	if err != nil || !reflect.DeepEqual(h, back) {
		t.Errorf("saved %+v, read %+v, %v", h, back, err)
	}
}
