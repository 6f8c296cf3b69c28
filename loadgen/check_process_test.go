package loadgen

import (
	"context"
	"testing"

	"github.com/signalbox/signalbox/client/process"
)

func TestBroadcastsFindRepliesThatAreMissingOrTooMany(t *testing.T) {
	for _, c := range []struct {
		replies []said
		says    string
	}{
		{replies: []said{{1, 9}, {2, 9}, {3, 9}}},
		{replies: []said{{3, 9}, {1, 9}, {2, 9}}},
		{replies: []said{{1, 9}, {3, 9}}, says: "2 of 3 members in \"x\" replied"},
		{replies: []said{{1, 9}, {2, 9}, {3, 9}, {4, 9}}, says: "4 of 3 members in \"x\" replied"},
		{replies: []said{{1, 9}, {2, 9}, {3, 9}, {2, 9}}, says: "member 2 in \"x\" replied twice"},
		{replies: []said{{1, 9}, {2, 8}, {3, 9}}, says: "replied twice, or to a different request"},
	} {
		r := &run{}
		x := &cast{run: r, process: process.New(nil, "", "x"), members: make([]*process.Member, 3)}
		x.judge(c.replies, 9)
		if c.says != "" {
			wantBroken(t, r, c.says)
		} else if list := r.broken.list(); len(list) > 0 {
			t.Errorf("%v: %q", c.replies, list)
		}
	}
}

// TestBroadcastsJudgeWhatMembersReply: a member from outside the run replies too.
func TestBroadcastsJudgeWhatMembersReply(t *testing.T) {
	w, r := prepared[*processBroadcast](t, of("process-broadcast"))
	check(t, w.caller(0)(t.Context()))
	if list := r.broken.list(); len(list) > 0 {
		t.Fatalf("all is well, and found is %q", list)
	}
	x := w.casts[0]
	_, err := process.Join(t.Context(), outsider(t, r), x.process.Name(), process.Handler{
		Request: func(_ context.Context, _ *process.Round, q *process.Request) (any, error) {
			return marked(minMark, markOf(q.Bytes())), nil
		},
	}, process.Encoding(process.Raw), process.Observer())
	check(t, err)
	for size := 0; size <= len(x.members); {
		round, err := x.members[0].Round(t.Context())
		check(t, err)
		size = round.Size()
	}
	check(t, w.caller(0)(t.Context()))
	wantBroken(t, r, "4 of 3 members")
}

func TestEpochsFindWhatTheyMustNotSee(t *testing.T) {
	for _, kind := range []string{"process-epoch", "process-rounds"} {
		for _, c := range []struct {
			name  string
			spoil func(e *epochCaller)
			says  string
		}{
			{name: "nothing", spoil: func(*epochCaller) {}},
			{
				name: "a member that is not prepared", says: "2 members were prepared for epoch",
				spoil: func(e *epochCaller) { e.prepared.Add(-1) },
			}, {
				name: "an epoch that goes back", says: "comes after 4611686018427387904",
				spoil: func(e *epochCaller) { e.last = 1 << 62 },
			},
		} {
			t.Run(kind+", "+c.name, func(t *testing.T) {
				w, r := prepared[*processEpochs](t, of(kind))
				check(t, w.caller(0)(t.Context()))
				c.spoil(w.callers[0])
				check(t, w.caller(0)(t.Context()))
				if c.says != "" {
					wantBroken(t, r, c.says)
				} else if list := r.broken.list(); len(list) > 0 {
					t.Errorf("found is %q", list)
				}
			})
		}
	}
}

func TestEpochsFindAProcessThatKnowsSomethingElseInTheEnd(t *testing.T) {
	for _, c := range []struct {
		spoil func(e *epochCaller)
		says  string
	}{
		{spoil: func(*epochCaller) {}},
		{spoil: func(e *epochCaller) { e.last-- }, says: "members was seen last"},
		{spoil: func(e *epochCaller) { e.members = e.members[1:] }, says: "and 3 members, but epoch"},
	} {
		w, r := prepared[*processEpochs](t, of("process-epoch"))
		check(t, w.caller(1)(t.Context()))
		c.spoil(w.callers[1])
		check(t, w.check(t.Context()))
		if c.says != "" {
			wantBroken(t, r, c.says)
		} else if list := r.broken.list(); len(list) > 0 {
			t.Errorf("found is %q", list)
		}
	}
}

// TestARoundIsOverWhenItIsCompleteOnEveryMember, and not before.
func TestARoundIsOverWhenItIsCompleteOnEveryMember(t *testing.T) {
	e := &epochCaller{done: make(chan uint64, 2)}
	e.members = make([]*process.Member, 3)
	for round := range uint64(2) {
		for member := range e.members {
			if len(e.done) > 0 {
				t.Errorf("round %d is over after %d members", round, member)
			}
			e.end(round)
		}
		if epoch := <-e.done; epoch != round {
			t.Errorf("epoch %d is over, and not %d", epoch, round)
		}
	}
}
