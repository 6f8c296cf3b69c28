package process

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
)

var (
	soak = flag.Int("process.commands", 20_000, "how many random commands the process and its model are driven with")
	from = flag.Uint64("process.seed", 1, "the seed of the first run")
)

const commandsOfARun = 400

// TestProcessAgreesWithItsModel: a process and its plain model get the same random commands at the same times. They
// must have equal answers and states after each, the invariants hold, the caller's guarantees hold, and a save and load
// loses nothing.
func TestProcessAgreesWithItsModel(t *testing.T) {
	commands := *soak
	if testing.Short() {
		commands = min(commands, 8_000)
	}
	tally := make(map[string]int)
	for seed := *from; commands > 0; seed++ {
		if err := playRandomly(seed, bugNone, false, tally); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		commands -= commandsOfARun
	}
	t.Log(tally)
	if *soak < 20_000 || testing.Short() {
		return
	}
	for _, event := range []string{
		"opened", "running", "complete", "cancelled", "failed", "kicked", "late", "loaded", "end all", "end late",
		"end cancelled", "parts", "send FENCED", "send OVERLOADED", "send PRECONDITION_FAILED", "send NOT_FOUND",
		"reply FENCED", "reply NOT_FOUND", "complete FENCED", "complete PRECONDITION_FAILED",
		"prepared FENCED", "completed FENCED", "fail SUCCESS", "fail FENCED", "ack BAD_REQUEST", "kick SUCCESS",
	} {
		if tally[event] < 3 {
			t.Errorf("%q came about %d times: the commands do not reach it", event, tally[event])
		}
	}
}

// random is a run.
type random struct {
	*rand.Rand
	*bed
	model      *model
	modelOrder uint64
	judge      *judge
	tally      map[string]int
	alone      bool
	last       string
	epochs     []uint64
	frozen     frozenBed
	gathers    bool // shortest delay, so an epoch opens with the last required member
}

// playRandomly plays a run. With alone set the model is judged by the invariants, and not compared with the process.
func playRandomly(seed uint64, planted bug, alone bool, tally map[string]int) error {
	ra := &random{
		Rand: rand.New(rand.NewPCG(seed, 18)), judge: newJudge(), tally: tally, alone: alone, epochs: []uint64{0},
		gathers: seed%8 == 7,
	}
	spec := ra.spec()
	var a Answer
	if ra.bed, a = newBed(spec); a.Status != protocol.StatusSuccess {
		return fmt.Errorf("spec %+v: %s", spec, a.Text)
	}
	ra.model = &model{spec: spec, planted: planted, now: ra.now, order: &ra.modelOrder, acts: 1}
	for range 3 {
		if err := ra.joinOne(); err != nil {
			return err
		}
	}
	for n := range commandsOfARun {
		if err := ra.step(n); err != nil {
			return fmt.Errorf("command %d at %d, %s: %w", n, ra.now, ra.last, err)
		}
	}
	return nil
}

// pick returns one element of a list.
func pick[T any](r interface{ IntN(int) int }, list ...T) T { return list[r.IntN(len(list))] }

func (ra *random) spec() kind.Spec {
	s := defaultSpec()
	s.OpenDelay = pick[time.Duration](ra, 0, 5, 20) * time.Millisecond
	s.MaxOpenDelay = s.OpenDelay + pick[time.Duration](ra, 0, 10, 40)*time.Millisecond
	s.MinMembers = pick(ra, 1, 1, 1, 2, 3)
	s.ReplyTimeout = pick[time.Duration](ra, 0, 30, 60, 200) * time.Millisecond
	s.OnTimeout = pick(ra, kind.TimeoutWait, kind.TimeoutEvict, kind.TimeoutFail)
	s.KeepResults = pick(ra, 1, 2, 16)
	if ra.gathers {
		s.OpenDelay, s.MinMembers = time.Millisecond, s.MinMembers%3+1 // mostly two
		s.MaxOpenDelay = max(s.MaxOpenDelay, s.OpenDelay)
	}
	return s
}

// step lets time pass and gives a command to both.
func (ra *random) step(n int) error {
	ra.last = "time"
	if err := ra.pass(ra.now + pick[uint64](ra, 0, 0, 0, 0, 0, 1, 1, 2, uint64(ra.IntN(30)))); err != nil {
		return err
	}
	times := 1
	if ra.IntN(600) == 0 {
		times = 300
	}
	if err := ra.command(times); err != nil {
		return err
	}
	if ra.alone {
		return nil
	}
	switch n % 40 {
	case 20:
		ra.frozen = ra.freeze()
	case 39:
		ra.tally["loaded"]++
		return cmp.Or(ra.frozen.check(), ra.reload())
	}
	return nil
}

// pass advances time. Mostly everything due is executed on time; sometimes late, as if its command were not in the log
// yet.
func (ra *random) pass(until uint64) error {
	for ra.IntN(4) > 0 {
		due, ok := ra.NextDue()
		if !ok || due > until {
			// Nothing is due, so the model must not move by itself.
			if err := ra.both(until, ok && due <= ra.now); err != nil {
				return err
			}
			break
		}
		if err := ra.both(max(due, ra.now), true); err != nil {
			return err
		}
	}
	ra.now, ra.model.now = max(ra.now, until), max(ra.now, until)
	return nil
}

func (ra *random) both(now uint64, due bool) error {
	before := ra.model.picture()
	ra.now, ra.model.now = now, now
	if due {
		if err := ra.playDue(); err != nil {
			return err
		}
		ra.countEvents()
	}
	ra.model.due()
	ra.dropKicked()
	return ra.compare(&before, step{verb: "time"})
}

// dropKicked drops sessions from the bed that only the model has removed, with a planted bug.
func (ra *random) dropKicked() {
	if *ra.model.order > ra.order {
		ra.order = *ra.model.order
	}
	ra.modelOrder = ra.order
}

func (ra *random) compare(before *picture, s step) error {
	after := ra.model.picture()
	if got := ra.picture(); !ra.alone && !reflect.DeepEqual(after, got) {
		return fmt.Errorf("the process differs from the model:\n%+v\n%+v", got, after)
	}
	if after.Epoch != before.Epoch {
		ra.epochs = append(ra.epochs, after.Epoch)
	}
	err := ra.judge.check(before, &after, s)
	for name, n := range ra.judge.seen {
		ra.tally[name] += n
	}
	clear(ra.judge.seen)
	return err
}

func (ra *random) countEvents() {
	names := []string{"", "opened", "running", "complete", "cancelled", "failed", "kicked", "late"}
	for _, e := range ra.events {
		ra.tally[names[e.Kind]]++
	}
	ra.events = ra.events[:0]
}

// give gives a command to both.
func (ra *random) give(s step, real func(at At) Answer, plain func() protocol.Status) error {
	before := ra.model.picture()
	ra.last = fmt.Sprintf("%s of %d in %d", s.verb, s.member, s.epoch)
	answer, err := ra.do(real)
	if err != nil {
		return err
	}
	ra.forgetRemoved()
	want := plain()
	if answer.Status != want && !ra.alone {
		return fmt.Errorf("it is answered %v, and by the model %v", answer, want)
	}
	ra.tally[s.verb+" "+want.String()]++
	ra.countEvents()
	s.accepted = want == protocol.StatusSuccess
	return ra.compare(&before, s)
}

var sessionNames = strings.Fields("a b c d e f")

// anyone returns a member, or sometimes a non-member.
func (ra *random) anyone() *Member {
	if len(ra.sessions) == 0 || ra.IntN(40) == 0 {
		return &Member{ID: ra.order + 1}
	}
	for {
		if m := ra.sessions[pick(ra, sessionNames...)]; m != nil {
			return m
		}
	}
}

func (ra *random) anyEpoch() uint64 {
	if ra.IntN(8) == 0 {
		return pick(ra, ra.epochs...)
	}
	return ra.model.epoch
}

func (ra *random) command(times int) error {
	if times == 1 {
		switch ra.IntN(100) {
		case 0, 1, 2:
			return ra.joinOne()
		case 3:
			return ra.leaveOne()
		case 4:
			return ra.operate()
		}
	}
	if times > 1 {
		return ra.flood(times)
	}
	m := ra.anyone()
	if ra.IntN(7) > 0 {
		return ra.behave(m)
	}
	return ra.message(m)
}

func (ra *random) joinOne() error {
	name := pick(ra, sessionNames...)
	j := kind.Joining{Name: name, Candidate: ra.IntN(4) > 0}
	if ra.IntN(20) == 0 {
		j.Name = "other"
	}
	m := ra.sessions[name]
	isNew := m == nil
	if isNew {
		ra.order++
		ra.modelOrder = ra.order
		m = &Member{ID: ra.order}
		ra.sessions[name] = m
	}
	err := ra.give(step{verb: "join", member: m.ID},
		func(at At) Answer { return ra.Process.Join(at, m, j) },
		func() protocol.Status { return ra.model.join(m.ID, j) })
	if err != nil || !isNew || !ra.gathers {
		return err
	}
	return ra.give(step{verb: "gathered"},
		func(at At) Answer {
			ra.Process.gathered(at)
			return Answer{}
		},
		func() protocol.Status {
			ra.model.gathered()
			return protocol.StatusSuccess
		})
}

func (ra *random) leaveOne() error {
	m := ra.anyone()
	for name, x := range ra.sessions {
		if x == m {
			delete(ra.sessions, name)
		}
	}
	if ra.IntN(3) == 0 {
		return ra.give(step{verb: "kick", member: m.ID},
			func(at At) Answer {
				return ra.Act(at, kind.Action{Kind: kind.ActionEvict, MemberID: m.ID,
					By: kind.ChangeInfo{Author: "op"}})
			},
			func() protocol.Status { return ra.model.kick(m.ID) })
	}
	return ra.give(step{verb: "leave", member: m.ID},
		func(at At) Answer { return ra.Process.Leave(at, m) },
		func() protocol.Status { return ra.model.leave(m.ID) })
}

func (ra *random) operate() error {
	if ra.IntN(3) == 0 {
		return ra.give(step{verb: "restart"},
			func(at At) Answer { return ra.Act(at, kind.Action{Kind: kind.ActionRestart}) }, ra.model.restart)
	}
	s := ra.spec()
	return ra.give(step{verb: "alter"}, func(at At) Answer { return ra.Alter(at, s, kind.ChangeInfo{Author: "op"}) },
		func() protocol.Status { return ra.model.alter(s) })
}

// flood sends requests from one member to another until refused, and beyond.
func (ra *random) flood(times int) error {
	m, to := ra.anyone(), ra.anyone()
	for range times {
		r := Request{Epoch: ra.model.epoch, To: []uint64{to.ID}}
		if ra.IntN(50) == 0 {
			r = Request{Epoch: ra.model.epoch, Audience: kind.ToAll}
		}
		if err := ra.send(m, r); err != nil || ra.model.state != kind.Running {
			return err
		}
	}
	return nil
}

func (ra *random) send(m *Member, r Request) error {
	return ra.give(step{verb: "send", member: m.ID, epoch: r.Epoch},
		func(at At) Answer { return ra.Send(at, m, r) }, func() protocol.Status { return ra.model.send(m.ID, r) })
}

// behave handles the first item in a correct member's inbox.
func (ra *random) behave(m *Member) error {
	x := ra.model.member(m.ID)
	if x == nil || len(x.unread()) == 0 {
		return ra.message(m)
	}
	i := x.unread()[0]
	if n := len(x.unread()); i.kind == kind.ItemCoordinate && n > 1 && ra.IntN(3) > 0 {
		i = x.unread()[1+ra.IntN(n-1)] // the coordinator's handler runs, while other items arrive
	}
	switch i.kind {
	case kind.ItemPrepare:
		return ra.prepared(m, i.epoch)
	case kind.ItemComplete:
		return ra.completed(m, i.epoch)
	case kind.ItemCoordinate:
		if ra.IntN(5) == 0 {
			return ra.complete(m, i.epoch)
		}
		return ra.send(m, Request{Epoch: i.epoch, Audience: pick(ra, kind.ToAll, kind.ToOthers), Payload: []byte{1}})
	case kind.ItemRequest:
		if waits := ra.model.waiting(i.exchange); slices.Contains(waits, m.ID) && ra.IntN(6) > 0 {
			return ra.reply(m, i.exchange.id, i.epoch)
		}
	}
	return ra.ack(m, i.seq)
}

// message is a message of any kind, valid or not.
func (ra *random) message(m *Member) error {
	epoch := ra.anyEpoch()
	switch ra.IntN(12) {
	case 0, 1:
		return ra.prepared(m, epoch)
	case 2:
		return ra.completed(m, epoch)
	case 3:
		return ra.complete(m, epoch)
	case 4:
		if ra.IntN(4) > 0 {
			return nil
		}
		return ra.give(step{verb: "fail", member: m.ID, epoch: epoch},
			func(at At) Answer { return ra.Fail(at, m, epoch, "x") },
			func() protocol.Status { return ra.model.fail(m.ID, epoch) })
	case 5, 6:
		return ra.ack(m, uint64(ra.IntN(int(m.lastSeq)+2)))
	case 7, 8, 9:
		return ra.reply(m, uint64(max(0, len(ra.model.exchanges)-ra.IntN(6)+1)), epoch)
	}
	r := Request{
		Epoch: epoch, Audience: pick(ra, kind.ToMembers, kind.ToAll, kind.ToOthers), Payload: make([]byte, ra.IntN(9)),
		Timeout: pick[uint64](ra, 0, 0, 0, 60),
	}
	if r.Audience == kind.ToMembers {
		for range ra.IntN(3) {
			r.To = append(r.To, ra.anyone().ID)
		}
	}
	return ra.send(m, r)
}

func (ra *random) prepared(m *Member, epoch uint64) error {
	return ra.give(step{verb: "prepared", member: m.ID, epoch: epoch},
		func(at At) Answer { return ra.Prepared(at, m, epoch) },
		func() protocol.Status { return ra.model.prepared(m.ID, epoch) })
}

func (ra *random) completed(m *Member, epoch uint64) error {
	return ra.give(step{verb: "completed", member: m.ID, epoch: epoch},
		func(at At) Answer { return ra.Completed(at, m, epoch) },
		func() protocol.Status { return ra.model.completed(m.ID, epoch) })
}

func (ra *random) complete(m *Member, epoch uint64) error {
	result := fmt.Sprint("result ", epoch)
	return ra.give(step{verb: "complete", member: m.ID, epoch: epoch},
		func(at At) Answer { return ra.Complete(at, m, epoch, []byte(result)) },
		func() protocol.Status { return ra.model.complete(m.ID, epoch, result) })
}

func (ra *random) ack(m *Member, seq uint64) error {
	return ra.give(step{verb: "ack", member: m.ID},
		func(at At) Answer { return ra.Ack(at, m, seq) },
		func() protocol.Status { return ra.model.ack(m.ID, seq) })
}

func (ra *random) reply(m *Member, exchange, epoch uint64) error {
	r := answering{Epoch: epoch, Exchange: exchange, Data: make([]byte, pick(ra, 0, 3, 65_000))}
	if len(r.Data) == 3 && ra.IntN(4) == 0 {
		r.Failed = true
	}
	return ra.give(step{verb: "reply", member: m.ID, epoch: epoch},
		func(at At) Answer { return ra.Reply(at, m, r) }, func() protocol.Status { return ra.model.reply(m.ID, r) })
}
