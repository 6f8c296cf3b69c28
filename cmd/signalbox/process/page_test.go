package process

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/liveview"
	kind "github.com/signalbox/signalbox/protocol/process"
)

func atMoment(ago time.Duration) client.Timestamp {
	return client.Timestamp{Happened: true, Ago: ago, Time: time.Hour - ago}
}

func plainFrame(out *bytes.Buffer) *cli.Frame { return cli.NewFrame(cli.Streams{Out: out, Err: out}) }

// processState is a process with many simultaneous conditions.
func processState() *process.State {
	member := func(id uint64, name string, prepared uint64, unread int) process.MemberState {
		return process.MemberState{
			Peer: process.Peer{ID: id, Name: name, Candidate: name != "d"}, Joined: atMoment(5 * time.Minute),
			Of: prepared != 0, Prepared: prepared, Unread: unread,
		}
	}
	return &process.State{
		Exists: true, Revision: 9,
		Overview: kind.Overview{
			Epoch: 9, Phase: process.Running, Since: atMoment(12 * time.Second), Opened: atMoment(13 * time.Second),
			Opening: true, Opens: 1500 * time.Millisecond, Coordinator: 3, Of: 3, LastResult: 7,
			LastAct: process.ActionRecord{Kind: process.VerbKick, At: atMoment(4 * time.Minute), Epoch: 7, MemberID: 4,
				Member: "e", By: process.ChangeInfo{Author: "ann@box", Reason: "it hangs"}},
		},
		Members: []process.MemberState{
			member(3, "a", 9, 0), member(5, "b", 9, 2), member(6, "c", 7, 1), member(8, "d", 0, 0),
		},
		Results: []process.Result{
			resultAt(2, 1, atMoment(time.Hour)), resultAt(4, 1, atMoment(time.Hour)),
			resultAt(7, 17, atMoment(3*time.Minute)),
		},
		Reasons: []process.BlockReason{{Code: process.ReasonReply, Epoch: 9, Exchange: 11, From: 3, Waiting: 2, Of: 3,
			Text:  "a (3) waits for 2 of 3 replies: b (5, 2 not acknowledged), c (6, 1 not acknowledged), for 7s",
			Since: atMoment(7 * time.Second)}},
	}
}

func resultAt(epoch uint64, size int, at client.Timestamp) process.Result {
	return process.Result{Result: kind.Result{Epoch: epoch, Size: size, At: at}}
}

func viewProcess(name string, s *process.State, elapsed time.Duration) *view {
	return &view{s, liveview.After(elapsed), "/prod", name}
}

func TestAPageShowsAWholeProcess(t *testing.T) {
	f := plainFrame(&bytes.Buffer{})
	const want = `process counter in /prod   running for 13s   epoch 9 with 3 members, coordinated by a (3), the next opens in 500ms

MEMBER   ID   ROLE          STATE       UNREAD   JOINED
a         3   coordinator   prepared         0     5m1s
b         5   candidate     prepared         2     5m1s
c         6   candidate     preparing        1     5m1s
d         8   observer      waits            0     5m1s

a (3) waits for 2 of 3 replies: b (5, 2 not acknowledged), c
  (6, 1 not acknowledged), for 8s

epoch 7 was complete 3m1s ago, with a result of 17 bytes
epoch 4 was complete 1h0m ago, with a result of 1 byte
epoch 2 was complete 1h0m ago, with a result of 1 byte

last action, 4m1s ago: evict of e (4) by ann@box: it hangs
`
	// The state is a second old.
	page := viewProcess("counter", processState(), time.Second).Page(f, 60)
	if page != want {
		t.Errorf("got\n%s\nwant\n%s", page, want)
	}
	if page := viewProcess("counter", &process.State{}, 0).Page(f, 0); page !=
		"process counter in /prod does not exist\n" {
		t.Errorf("none: %s", page)
	}
}

// TestAPageOfManyMembersShowsThoseThatAreWaitedFor: the first remaining members fill the page.
func TestAPageOfManyMembersShowsThoseThatAreWaitedFor(t *testing.T) {
	s := &process.State{Exists: true, Overview: kind.Overview{Epoch: 500, Phase: process.Preparing, Coordinator: 1,
		Of: 100}}
	for id := uint64(1); id <= 100; id++ {
		m := process.MemberState{Peer: process.Peer{ID: id, Name: fmt.Sprint("m", id)}, Of: true, Prepared: 500}
		if id%40 == 0 {
			m.Prepared = 0
		}
		s.Members = append(s.Members, m)
	}
	page := viewProcess("many", s, 0).Page(plainFrame(&bytes.Buffer{}), 0)
	for _, want := range []string{
		"\nm1 ", "\nm18 ", "\nm40 ", "\nm80 ", "\n... and 80 more: signalbox process members\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("it does not show %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "\nm19 ") || strings.Index(page, "\nm18 ") > strings.Index(page, "\nm40 ") {
		t.Errorf("it shows others, or in another order:\n%s", page)
	}
}

func TestStatesOfMembers(t *testing.T) {
	running := viewProcess("counter", &process.State{Overview: kind.Overview{Epoch: 9, Phase: process.Running}}, 0)
	complete := viewProcess("counter", &process.State{Overview: kind.Overview{Epoch: 9, Phase: process.Complete}}, 0)
	for _, c := range []struct {
		of   *view
		m    process.MemberState
		want string
	}{
		{running, process.MemberState{Prepared: 9}, memberWaits},
		{running, process.MemberState{Of: true, Prepared: 7}, memberPreparing},
		{running, process.MemberState{Of: true, Prepared: 9, Completed: 7}, memberPrepared},
		{complete, process.MemberState{Of: true, Prepared: 9, Completed: 7}, memberHandles},
		{complete, process.MemberState{Of: true, Prepared: 9, Completed: 9}, memberCompleted},
	} {
		if got := c.of.state(&c.m); got != c.want {
			t.Errorf("%+v in %s: %s, want %s", c.m, c.of.Phase, got, c.want)
		}
	}
}

func TestChangesOfAProcessAreLines(t *testing.T) {
	object := func(change func(s *process.State)) *view {
		s := processState()
		if change != nil {
			change(s)
		}
		return viewProcess("counter", s, 0)
	}
	gone := viewProcess("counter", &process.State{}, 0)
	for _, c := range []struct {
		before, now *view
		want        []string
	}{
		{nil, gone, []string{"counter    does not exist"}},
		{object(nil), gone, []string{"counter    is deleted"}},
		{object(nil), object(nil), nil},
		{nil, object(nil), []string{
			"counter    evict of e (4) by ann@box: it hangs",
			"a          joins as member 3", "b          joins as member 5", "c          joins as member 6",
			"d          joins as member 8, an observer",
			"counter    epoch 9 opens with 3 members, coordinated by a (3)",
			"counter    epoch 9 runs: all members are prepared",
		}},
		{object(func(s *process.State) { s.Phase = process.Preparing }), object(nil),
			[]string{"counter    epoch 9 runs: all members are prepared"}},
		{object(nil), object(func(s *process.State) { s.Phase, s.Of, s.Members = process.Forming, 0, s.Members[1:] }),
			[]string{"a          leaves, as member 3"}},
		{object(nil), object(func(s *process.State) {
			s.Epoch, s.Coordinator, s.Phase = 12, 8, process.Complete
			s.Results = append(s.Results, resultAt(9, 1, client.Timestamp{}), resultAt(12, 2, client.Timestamp{}))
		}), []string{
			"counter    epoch 9 is complete, with a result of 1 byte",
			"counter    epoch 12 opens with 3 members, coordinated by d (8)",
			"counter    epoch 12 is complete, with a result of 2 bytes",
		}},
		{object(nil), object(func(s *process.State) { s.Reasons[0].Late = true }),
			[]string{"counter    a (3) waits for 2 of 3 replies: b (5, 2 not acknowledged), " +
				"c (6, 1 not acknowledged), for 7s"}},
		{object(func(s *process.State) { s.Reasons[0].Late = true }),
			object(func(s *process.State) { s.Reasons[0].Late, s.Reasons[0].Waiting = true, 1 }), nil},
		{object(nil),
			object(func(s *process.State) { s.LastAct.At, s.LastAct.Kind = atMoment(0), process.VerbRestart }),
			[]string{"counter    restart of e (4) by ann@box: it hangs"}},
	} {
		if got := c.now.Changes(c.before); strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("it says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
	if !object(nil).SameAs(object(nil)) || object(nil).SameAs(object(func(s *process.State) { s.Reasons = nil })) ||
		object(nil).SameAs(object(func(s *process.State) { s.Revision++ })) {
		t.Error("what is the same is not seen")
	}
}
