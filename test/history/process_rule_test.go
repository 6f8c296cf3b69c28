package history_test

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/history"
)

var workers = history.Process{Node: "/jobs", Name: "workers"}

// Members, sessions and epochs of the base history.
const (
	older, newer     = 1, 2
	inOlder, inNewer = 11, 12
	firstEpoch       = 10
	secondEpoch      = 20
	firstOpened      = history.Time(1000) // of the recording
	restarted        = history.Time(1900)
	secondOpened     = history.Time(2000)
	firstCompleted   = history.Time(1500)
	secondCompleted  = history.Time(2500)
)

// coordinated is a history with two members and two rounds, the second caused by a restart. alter changes the history.
func coordinated(alter func(*history.History)) *history.History {
	h := &history.History{
		Sessions: []history.Session{
			{ID: inOlder, From: 1, To: history.Never}, {ID: inNewer, From: 2, To: history.Never},
		},
		Changes: []history.ProcessChange{
			changed(history.MemberJoins, 100, history.ProcessChange{Member: older, Session: inOlder, Candidate: true}),
			changed(history.MemberJoins, 200, history.ProcessChange{Member: newer, Session: inNewer, Candidate: true}),
			changed(history.OperatorRestarts, restarted, history.ProcessChange{Mark: "again"}),
		},
		Processes: []history.ProcessFinal{{
			Process: workers, At: 9000, Epoch: secondEpoch, State: history.StateComplete, Coordinator: older, Kept: 16,
			Members: []history.FinalMember{{older, inOlder, secondEpoch}, {newer, inNewer, secondEpoch}},
			Results: []history.FinalResult{{firstEpoch, "r10"}, {secondEpoch, "r20"}},
			Parts: []history.ProcessPart{
				{Process: workers, Member: older, Session: inOlder},
				{Process: workers, Member: newer, Session: inNewer},
			},
		}},
	}
	addRound(h, firstEpoch, firstOpened, firstCompleted, "r10")
	addRound(h, secondEpoch, secondOpened, secondCompleted, "r20")
	alter(h)
	slices.SortStableFunc(h.Calls, func(a, b history.ProcessCall) int { return int(a.Began - b.Began) })
	return h
}

// leaveOne kills the newer member and its client before the end. The remaining member forms a round that needs two.
func leaveOne(h *history.History) {
	h.Sessions[1].Client, h.Sessions[1].To, h.Sessions[1].End = 1, 8000, history.Closed
	f := &h.Processes[0]
	f.State, f.Least, f.Epoch = history.StateForming, 2, secondEpoch+1
	f.Members, f.Parts = f.Members[:1], f.Parts[:1]
}

// undecided ends the session of the newer member, after a rebuild of the shard that is `away` slots from the session's
// home.
func undecided(h *history.History, away shard.Slot) {
	h.Processes[0].Parts = h.Processes[0].Parts[:1]
	h.Sessions[1].To, h.Sessions[1].End = 3000, history.Closed
	home := shard.SessionID(h.Sessions[1].ID).Slot()
	h.Recoveries = []history.Recovery{recovery(home+away, 2900, 3100)}
}

// addRound adds a round: the coordinator sends a request to both members, the newer member sends one to the
// coordinator.
func addRound(h *history.History, epoch uint64, at, done history.Time, result string) {
	for _, m := range []uint64{older, newer} {
		prepare := history.ProcessCall{
			Kind: history.CallPrepare, Coordinator: older, Size: 2, View: []uint64{older, newer},
		}
		call(h, m, epoch, at+history.Time(m), prepare)
	}
	call(h, older, epoch, at+10, history.ProcessCall{Kind: history.CallCoordinate})
	for i, x := range []history.Exchange{
		{Member: older, Mark: "all" + result, To: []uint64{older, newer}},
		{Member: newer, Mark: "its" + result, To: []uint64{older}},
	} {
		x.Process, x.Epoch, x.Outcome, x.Wanted = workers, epoch, history.Done, len(x.To)
		x.Called = at + 100 + history.Time(100*i)
		x.Returned = x.Called + 90
		for j, m := range x.To {
			reply := history.ExchangeReply{From: m, Text: x.Mark + "-reply"}
			call(h, m, epoch, x.Called+10+history.Time(j*10), history.ProcessCall{
				Kind: history.CallRequest, From: x.Member, Mark: x.Mark, Reply: reply.Text,
			})
			x.Replies = append(x.Replies, reply)
		}
		h.Exchanges = append(h.Exchanges, x)
	}
	completes := changed(history.MemberCompletes, done,
		history.ProcessChange{Member: older, Epoch: epoch, Mark: result})
	completes.Outcome = history.Unknown
	h.Changes = append(h.Changes, completes)
	for _, m := range []uint64{older, newer} {
		call(h, m, epoch, done+10+history.Time(m), history.ProcessCall{Kind: history.CallComplete, Mark: result})
	}
}

// changed is a change made at the given time.
func changed(kind history.ChangeKind, at history.Time, c history.ProcessChange) history.ProcessChange {
	c.Kind, c.Process, c.Called, c.Returned, c.Outcome = kind, workers, at, at+5, history.Done
	return c
}

// call adds the next call of a member.
func call(h *history.History, member, epoch uint64, at history.Time, c history.ProcessCall) {
	c.Process, c.Member, c.Epoch, c.Began, c.Ended = workers, member, epoch, at, at+1
	for _, other := range h.Calls {
		if other.Member == member {
			c.Place = max(c.Place, other.Place+1)
		}
	}
	h.Calls = append(h.Calls, c)
}

// callOf returns a member's call in an epoch.
func callOf(h *history.History, kind history.CallKind, member, epoch uint64) *history.ProcessCall {
	i := slices.IndexFunc(h.Calls, func(c history.ProcessCall) bool {
		return c.Kind == kind && c.Member == member && c.Epoch == epoch
	})
	return &h.Calls[i]
}

// remove removes a call.
func remove(h *history.History, kind history.CallKind, member, epoch uint64) {
	x := callOf(h, kind, member, epoch).Place
	h.Calls = slices.DeleteFunc(h.Calls, func(c history.ProcessCall) bool { return c.Member == member && c.Place == x })
}

// cancelled turns the completion of the first round into a cancellation, for one member.
func cancelled(h *history.History, member uint64) {
	c := callOf(h, history.CallComplete, member, firstEpoch)
	c.Kind, c.Mark = history.CallCancel, ""
}

func TestRulesOfProcesses(t *testing.T) {
	for _, c := range []struct {
		name   string
		rule   string // broken rule; empty for none
		change func(h *history.History)
	}{
		{"all is well", "", func(*history.History) {}},

		{"a round has no end", "handlers", func(h *history.History) {
			remove(h, history.CallComplete, newer, firstEpoch)
		}},
		{"a round ends twice", "handlers", func(h *history.History) {
			call(h, newer, secondEpoch, 2600, history.ProcessCall{Kind: history.CallCancel})
		}},
		{"a member prepares twice", "handlers", func(h *history.History) {
			call(h, newer, secondEpoch, 2600, *callOf(h, history.CallPrepare, newer, secondEpoch))
		}},
		{"an older epoch comes later", "handlers", func(h *history.History) {
			call(h, newer, firstEpoch, 2600, *callOf(h, history.CallPrepare, newer, firstEpoch))
		}},
		{"a request comes before prepare", "handlers", func(h *history.History) {
			prepare := callOf(h, history.CallPrepare, newer, firstEpoch)
			request := callOf(h, history.CallRequest, newer, firstEpoch)
			prepare.Place, request.Place = request.Place, prepare.Place
		}},
		{"a request comes after the end of its round", "handlers", func(h *history.History) {
			request := callOf(h, history.CallRequest, newer, firstEpoch)
			end := callOf(h, history.CallComplete, newer, firstEpoch)
			request.Place, end.Place = end.Place, request.Place
		}},
		{"two handlers run at once", "handlers", func(h *history.History) {
			callOf(h, history.CallPrepare, newer, firstEpoch).Ended = firstCompleted
		}},
		{"another than the coordinator coordinates", "handlers", func(h *history.History) {
			callOf(h, history.CallCoordinate, older, firstEpoch).Member = newer
		}},
		{"a coordinator is asked twice", "handlers", func(h *history.History) {
			x := *callOf(h, history.CallCoordinate, older, firstEpoch)
			x.Began++
			h.Calls = append(h.Calls, x)
		}},
		{"a member that is over handles something", "handlers", func(h *history.History) {
			x := callOf(h, history.CallComplete, newer, firstEpoch)
			x.Kind = history.CallTerminate
		}},
		{"another number of members", "handlers", func(h *history.History) {
			callOf(h, history.CallPrepare, newer, firstEpoch).Size = 1
		}},
		{"two coordinators of one epoch", "handlers", func(h *history.History) {
			callOf(h, history.CallPrepare, newer, firstEpoch).Coordinator = newer
		}},
		{"a younger candidate coordinates", "handlers", func(h *history.History) {
			callOf(h, history.CallPrepare, older, secondEpoch).Coordinator = newer
			callOf(h, history.CallPrepare, newer, secondEpoch).Coordinator = newer
		}},
		{"a member of a view joined later", "handlers", func(h *history.History) {
			callOf(h, history.CallPrepare, older, firstEpoch).View = []uint64{newer, 30}
		}},
		{"more members are seen than there are", "handlers", func(h *history.History) {
			callOf(h, history.CallPrepare, older, firstEpoch).View = []uint64{newer, 3}
		}},
		{"an older candidate does not coordinate", "handlers", func(h *history.History) {
			h.Changes = append(h.Changes, changed(history.MemberJoins, 50, history.ProcessChange{Candidate: true}))
			for _, m := range []uint64{older, newer} {
				callOf(h, history.CallPrepare, m, firstEpoch).Size = 3
			}
			callOf(h, history.CallPrepare, older, firstEpoch).View = []uint64{0}
		}},
		{"who is no candidate coordinates", "handlers", func(h *history.History) { h.Changes[0].Candidate = false }},

		{"a request is handled twice", "exchanges", func(h *history.History) {
			x := *callOf(h, history.CallRequest, newer, firstEpoch)
			x.Began++
			h.Calls = append(h.Calls, x)
		}},
		{"a request comes from nowhere", "exchanges", func(h *history.History) { h.Exchanges = h.Exchanges[1:] }},
		{"a request is handled by another than it is for", "exchanges", func(h *history.History) {
			h.Exchanges[0].To = []uint64{older}
		}},
		{"a request is handled in another epoch", "exchanges", func(h *history.History) {
			h.Exchanges[0].Epoch = secondEpoch
		}},
		{"a request says another sender", "exchanges", func(h *history.History) { h.Exchanges[0].Member = newer }},
		{"a request that was refused is handled", "exchanges", func(h *history.History) {
			h.Exchanges[0].Outcome, h.Exchanges[0].Replies = history.Refused, nil
		}},
		{"an exchange ends without all replies", "exchanges", func(h *history.History) {
			h.Exchanges[0].Replies = h.Exchanges[0].Replies[:1]
		}},
		{"an exchange ends late, without all replies", "", func(h *history.History) {
			h.Exchanges[0].Replies, h.Exchanges[0].Late = h.Exchanges[0].Replies[:1], true
		}},
		{"a reply is counted twice", "exchanges", func(h *history.History) {
			h.Exchanges[0].Replies[1] = h.Exchanges[0].Replies[0]
		}},
		{"a reply is another one than was given", "exchanges", func(h *history.History) {
			h.Exchanges[0].Replies[1].Text = "something else"
		}},
		{"a reply was given by no member", "exchanges", func(h *history.History) {
			remove(h, history.CallRequest, newer, firstEpoch)
		}},
		{"a failure counts as success", "exchanges", func(h *history.History) {
			callOf(h, history.CallRequest, newer, firstEpoch).Failed = true
		}},
		{"requests overtake each other", "exchanges", func(h *history.History) {
			x := h.Exchanges[0]
			x.Mark, x.Called, x.Returned, x.To, x.Wanted = "early", x.Called-20, x.Called-10, []uint64{newer}, 1
			x.Replies = []history.ExchangeReply{{From: newer, Text: "y"}}
			h.Exchanges = append(h.Exchanges, x)
			call(h, newer, firstEpoch, 1450, history.ProcessCall{
				Kind: history.CallRequest, From: older, Mark: x.Mark, Reply: "y",
			})
			callOf(h, history.CallRequest, newer, firstEpoch).Began = 1200
			last, end := &h.Calls[len(h.Calls)-1], callOf(h, history.CallComplete, newer, firstEpoch)
			for i := range h.Calls {
				if h.Calls[i].Member == newer && h.Calls[i].Place >= end.Place && &h.Calls[i] != last {
					h.Calls[i].Place++
				}
			}
			last.Place = end.Place - 1
		}},

		{"something of an epoch is accepted after the next one has opened", "epochs", func(h *history.History) {
			h.Exchanges[1].Called, h.Exchanges[1].Returned = secondOpened+5, secondOpened+9
		}},
		{"a round is completed after the next epoch has opened", "epochs", func(h *history.History) {
			h.Changes[3].Called = secondOpened + 5
		}},
		{"an epoch opens with too few members", "epochs", func(h *history.History) {
			h.Processes[0].Least = 2
			for i := range h.Calls {
				if c := &h.Calls[i]; c.Kind == history.CallPrepare && c.Epoch == firstEpoch {
					c.Size = 1
				}
			}
		}},
		{"who is not of the epoch sends in it", "epochs", func(h *history.History) { h.Exchanges[0].Member = 3 }},
		{"another than the coordinator completes a round", "epochs", func(h *history.History) {
			h.Changes[3].Member = newer
		}},
		{"a result comes from nowhere", "epochs", func(h *history.History) { h.Changes = h.Changes[:3] }},
		{"a kept result comes from nowhere", "epochs", func(h *history.History) {
			h.Processes[0].Results[0].Mark = "other"
		}},
		{"a member is shown another result", "epochs", func(h *history.History) {
			callOf(h, history.CallComplete, newer, firstEpoch).Mark = "other"
		}},
		{"a result is lost", "epochs", func(h *history.History) {
			h.Processes[0].Results = h.Processes[0].Results[1:]
		}},
		{"a result of an epoch that began after the end was read", "", func(h *history.History) {
			f := &h.Processes[0]
			f.Results, f.Epoch = f.Results[:1], firstEpoch
			f.Members, f.Parts = nil, nil
		}},
		{"a result that is too old is not kept", "", func(h *history.History) {
			h.Processes[0].Results, h.Processes[0].Kept = h.Processes[0].Results[1:], 1
		}},
		{"a round is cancelled for some and complete for others", "epochs", func(h *history.History) {
			cancelled(h, newer)
		}},
		{"a round is cancelled for who leaves, and complete for others", "", func(h *history.History) {
			h.Calls = slices.DeleteFunc(h.Calls, func(c history.ProcessCall) bool {
				return c.Member == newer && c.Epoch == secondEpoch
			})
			cancelled(h, newer)
			call(h, newer, 0, 1600, history.ProcessCall{Kind: history.CallTerminate})
			prepare := callOf(h, history.CallPrepare, older, secondEpoch)
			prepare.Size, prepare.View = 1, nil
			remove(h, history.CallRequest, older, secondEpoch)
			remove(h, history.CallRequest, older, secondEpoch)
			h.Exchanges = h.Exchanges[:2]
			f := &h.Processes[0]
			f.Members, f.Parts = f.Members[:1], f.Parts[:1]
		}},

		{"an epoch opens without a cause", "causes", func(h *history.History) {
			h.Changes = slices.Delete(h.Changes, 2, 3)
		}},
		{"what was refused causes an epoch", "causes", func(h *history.History) {
			h.Changes[2].Outcome = history.Refused
		}},
		{"what came before the epoch before causes an epoch", "causes", func(h *history.History) {
			h.Changes[2].Called, h.Changes[2].Returned = 150, 155
		}},
		{"what comes later causes an epoch", "causes", func(h *history.History) {
			h.Changes[2].Called, h.Changes[2].Returned = 3000, 3005
		}},
		{"a session that ended causes an epoch", "", func(h *history.History) {
			h.Changes[2] = changed(history.MemberJoins, 150, history.ProcessChange{Member: 5, Session: 15})
			h.Sessions = append(h.Sessions, history.Session{ID: 15, From: 3, To: 160, End: history.Closed})
		}},
		{"a member that was put out and never heard of it causes an epoch", "", func(h *history.History) {
			h.Changes[2] = changed(history.MemberJoins, 150, history.ProcessChange{Member: 5, Session: 15})
			h.Sessions = append(h.Sessions, history.Session{ID: 15, From: 3, To: 8000, End: history.Closed})
		}},
		{"a member that was put out before it left causes an epoch", "", func(h *history.History) {
			h.Changes[2] = changed(history.MemberJoins, 150, history.ProcessChange{Member: 5, Session: 15})
			h.Changes = append(h.Changes,
				changed(history.MemberLeaves, 3000, history.ProcessChange{Member: 5, Session: 15}))
		}},
		{"a member that joins and leaves later causes no epoch", "causes", func(h *history.History) {
			h.Changes[2] = changed(history.MemberJoins, 2900, history.ProcessChange{Member: 5, Session: 15})
			h.Changes = append(h.Changes,
				changed(history.MemberLeaves, 3000, history.ProcessChange{Member: 5, Session: 15}))
		}},
		{"a member that is still there causes no epoch by its end", "causes", func(h *history.History) {
			h.Changes = slices.Delete(h.Changes, 2, 3)
			h.Sessions[1].To, h.Sessions[1].End = 8000, history.Closed
		}},

		{"a round goes on for ever", "rounds", func(h *history.History) { h.Processes[0].State = "running" }},
		{"the last result is not there", "rounds", func(h *history.History) {
			h.Processes[0].Results[1].Epoch--
		}},
		{"a round forms, and enough clients are there", "rounds", func(h *history.History) {
			leaveOne(h)
			h.Sessions[1].Client, h.Sessions[1].To = 1, history.Never
		}},
		{"a round of too few goes on", "rounds", func(h *history.History) {
			leaveOne(h)
			h.Processes[0].State = "running"
		}},
		{"a session that is over is a member", "rounds", func(h *history.History) {
			h.Processes[0].Parts = h.Processes[0].Parts[:1]
		}},
		{"a session that is over is a member, and its home was made anew", "", func(h *history.History) {
			undecided(h, 0)
		}},
		{"a session that is over is a member, and another shard was made anew", "rounds", func(h *history.History) {
			undecided(h, 1)
		}},
		{"a member is none any more", "rounds", func(h *history.History) {
			h.Processes[0].Members = h.Processes[0].Members[:1]
		}},
		{"a member that was kicked is one still", "rounds", func(h *history.History) {
			h.Changes = append(h.Changes, changed(history.OperatorKicks, 3000, history.ProcessChange{Member: newer}))
		}},
		{"a completion is not confirmed", "rounds", func(h *history.History) {
			h.Processes[0].Members[1].Completed = firstEpoch
		}},
		{"a completion is not handled", "rounds", func(h *history.History) {
			callOf(h, history.CallComplete, newer, secondEpoch).Ended = 0
		}},
	} {
		found, _ := history.Check(coordinated(c.change))
		broken := make(map[string]bool)
		for _, f := range found {
			broken[f.Rule] = true
		}
		if c.rule == "" && len(found) > 0 || c.rule != "" && !broken[c.rule] {
			t.Errorf("%s: found %v, want %q", c.name, found, c.rule)
		}
	}
}

func TestAHistoryOfProcessesIsReadAsItWasSaved(t *testing.T) {
	want := coordinated(func(*history.History) {})
	slices.SortFunc(want.Changes, func(a, b history.ProcessChange) int { return int(a.Called - b.Called) })
	r := newRecorder("a title")
	number := uint64(0)
	add := func(e history.Entry) {
		number++
		e.Number = number
		r.Add(e)
	}
	for i := range want.Calls {
		add(history.Entry{Call: &want.Calls[i]})
	}
	for i := range want.Exchanges {
		add(history.Entry{Exchange: &want.Exchanges[i]})
	}
	for i := range want.Changes {
		add(history.Entry{Change: &want.Changes[i]})
	}
	f := want.Processes[0]
	part := func(client int, p history.ProcessPart) {
		r.Add(history.Entry{Client: client, Part: &p})
	}
	for _, p := range f.Parts {
		part(0, p)
		p.Member += 100
		part(1, p)
	}
	r.ClientDied(1, 5)
	left := history.ProcessPart{Process: workers, Member: 7, Session: 17}
	part(0, left)
	left.Over = true
	part(0, left)
	f.Parts = nil
	r.Process(f)
	if found := r.Unfinished(workers); len(found) > 0 {
		t.Errorf("%v", found)
	}
	f.State = "running"
	r.Process(f)
	if found := r.Unfinished(workers); len(found) == 0 {
		t.Error("a round that runs is taken for complete")
	}
	h := r.History()
	if len(h.Processes) != 1 || !reflect.DeepEqual(h.Processes[0].Parts, want.Processes[0].Parts) {
		t.Errorf("processes %+v", h.Processes)
	}
	if !reflect.DeepEqual(h.Calls, want.Calls) || !reflect.DeepEqual(h.Exchanges, want.Exchanges) ||
		!reflect.DeepEqual(h.Changes, want.Changes) {
		t.Errorf("calls %+v, exchanges %+v, changes %+v", h.Calls, h.Exchanges, h.Changes)
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

// TestARoundOfTooFewForms: too few members: a member's client is gone and no replacement comes.
func TestARoundOfTooFewForms(t *testing.T) {
	if found, _ := history.Check(coordinated(leaveOne)); len(found) > 0 {
		t.Errorf("%v", found)
	}
}
