package machine

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
)

// objectModel says in the plainest way what the objects of one kind in a shard should be after a command.
type objectModel interface {
	// end releases what a session has, drop removes all objects, due does what time alone brings about.
	end(id shard.SessionID)
	drop()
	due()
	// objects are all, as a State has them. size is what they count for in quotas. alarms are the times for which they
	// wait.
	objects() []shard.ObjectState
	size() uint64
	alarms() []uint64
	// view holds what the machine shows against what it should.
	view(m *Machine) error
}

// modelShard is what the models of all kinds have in common.
type modelShard struct {
	now      uint64
	wall     uint64
	order    shard.OrderID
	revision shard.Revision
	limit    uint64 // of bytes
	sessions map[shard.SessionID]*modelMutator
}

// modelMutator is a session, with the length of the body of its last answer.
type modelMutator struct {
	number uint64
	body   int
}

func newModelShard() *modelShard {
	return &modelShard{limit: shard.DefaultNodeBytes, sessions: map[shard.SessionID]*modelMutator{}}
}

// modelOrder is the order id that shard 1 gives next.
func modelOrder(last shard.OrderID) shard.OrderID {
	for last++; last%1024 != 1; {
		last++
	}
	return last
}

// bytes is what sessions and their answers count for in quotas.
func (ms *modelShard) bytes() (n uint64) {
	for _, s := range ms.sessions {
		n += shard.SessionBytes
		if s.number > 0 {
			n += shard.AnswerBytes
		}
		if s.body > 0 {
			n += uint64(shard.AnswerBodyBytes + s.body)
		}
	}
	return n
}

// objectRun drives a machine and a model of the objects of one kind with the same random commands.
type objectRun struct {
	*bed
	*rand.Rand
	base      *modelShard
	objects   objectModel
	followers []*rowFollower
	tally     map[string]int
	mutate    func(id shard.SessionID) error // carries a command of a session out
	applied   func(list []shard.Effect)      // sees what commands bring about
	after     func() error                   // looks at the machine after each step
	tamper    func(moment string)            // a mistake
	saved     *objectSave
}

// objectSave is a snapshot that is saved some steps later, when the machine has moved on.
type objectSave struct {
	snapshot shard.Snapshot
	state    shard.State
	wait     int
}

func newObjectRun(seed, stream uint64, base *modelShard, model objectModel, tally map[string]int) *objectRun {
	r := &objectRun{
		bed: newBed(0), Rand: rand.New(rand.NewPCG(seed, stream)), base: base, objects: model, tally: tally,
		applied: func([]shard.Effect) {}, after: func() error { return nil }, tamper: func(string) {},
	}
	r.m = New(TestKinds, Options{History: 64, Bounds: Bounds{Work: 3}})
	return r
}

// play plays a run and says what first went wrong. early is a command of the run.
func (r *objectRun) play(early shard.CommandKind, steps int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	r.do(shard.Command{Kind: early, Level: level.Newest + 1, Node: 1, Name: []byte("early")})
	if e := r.result(); e.Status != protocol.StatusUnsupported {
		return fmt.Errorf("below its level a command is answered %v", e.Status)
	}
	r.at = level.Newest
	r.do(shard.Command{Kind: shard.CmdLead, Term: 1})
	for i := range steps {
		if err := r.step(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		r.tamper("step")
		if err := r.check(r.m); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		if err := r.after(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		for _, f := range r.followers {
			if r.IntN(3) == 0 {
				if err := f.catchUp(r.m); err != nil {
					return fmt.Errorf("step %d: %w", i, err)
				}
			}
		}
		if err := r.snapshot(); err != nil {
			return fmt.Errorf("step %d: snapshot: %w", i, err)
		}
	}
	return nil
}

// step carries one command out, and compares its answer.
func (r *objectRun) step() error {
	r.base.now += uint64(r.IntN(40) * r.IntN(40))
	r.one.Stamp.Elapsed = r.base.now
	r.base.wall = 0
	ids := slices.Sorted(maps.Keys(r.base.sessions))
	switch n := r.IntN(60); {
	case len(ids) < 5 || n == 0:
		id := r.all(shard.Command{Kind: shard.CmdSessionCreate, Slot: shard.Slot(r.IntN(shard.Slots)), Node: 1}).Session
		if id != 0 {
			r.base.sessions[id] = &modelMutator{}
		}
	case n == 1:
		id, other := ids[r.IntN(len(ids))], ids[r.IntN(len(ids))]
		r.objects.end(id)
		if other != id {
			r.objects.end(other)
		}
		r.all(shard.Command{Kind: shard.CmdSessionsExpire, Term: 1, Sessions: []shard.SessionID{id, other}})
	case n == 2 && r.IntN(8) == 0:
		r.objects.drop()
		r.all(shard.Command{Kind: shard.CmdNodeDrop, Node: 1, Count: 3})
	case n == 3 || n == 4:
		r.base.limit = shard.DefaultNodeBytes
		if r.IntN(4) == 0 {
			r.base.limit = r.bytes() + uint64(r.IntN(900))
		}
		r.all(shard.Command{Kind: shard.CmdNodeLimits, Node: 1, Bytes: r.base.limit})
	case n < 12:
		r.base.wall = uint64(r.IntN(100))
		r.objects.due()
		r.all(shard.Command{Kind: shard.CmdDue, Term: 1, Time: r.base.wall})
	default:
		return r.mutate(ids[r.IntN(len(ids))])
	}
	return nil
}

// all carries a command out to its end, whatever stays pending meanwhile.
func (r *objectRun) all(c shard.Command) *shard.Effect {
	for {
		r.do(c)
		r.applied(r.out.List)
		answer := *r.result()
		for r.m.Pending() > 0 {
			r.do(shard.Command{Kind: shard.CmdContinue})
			r.applied(r.out.List)
		}
		if answer.Flags&shard.FlagMore == 0 {
			return &answer
		}
	}
}

// explained reports whether an answer has a text for people: a refusal that says nothing itself.
func explained(e *shard.Effect) bool {
	return e.Status != protocol.StatusSuccess && e.Status != protocol.StatusQuotaExceeded
}

// check compares the machine with the model.
func (r *objectRun) check(m *Machine) error {
	state := m.State()
	for k := range state.Objects {
		if len(state.Objects[k].Links) == 0 {
			state.Objects[k].Links = nil
		}
	}
	want, alarms := r.objects.objects(), r.objects.alarms()
	next := uint64(0)
	if len(alarms) > 0 {
		next = slices.Min(alarms)
	}
	at, _ := m.NextAlarm()
	switch {
	case !reflect.DeepEqual(state.Objects, want):
		return fmt.Errorf("objects (- model, + machine):\n%s", objectsDiff(state.Objects, want))
	case state.LastOrder != r.base.order || state.LastRevision != r.base.revision || state.Now != r.base.now:
		return fmt.Errorf("order id %d, revision %d at %d, not %d, %d at %d", state.LastOrder, state.LastRevision,
			state.Now, r.base.order, r.base.revision, r.base.now)
	case len(state.Sessions) != len(r.base.sessions):
		return fmt.Errorf("%d sessions, not %d", len(state.Sessions), len(r.base.sessions))
	case m.Usage(0).Bytes != r.bytes():
		return fmt.Errorf("%d bytes count, not %d", m.Usage(0).Bytes, r.bytes())
	case at != next || m.Alarms() != len(alarms):
		return fmt.Errorf("%d wait, the first for %d; it should be %d, for %d", m.Alarms(), at, len(alarms), next)
	}
	if err := m.CheckLeaks(); err != nil {
		return err
	}
	return r.objects.view(m)
}

// bytes is what all of it counts for in quotas.
func (r *objectRun) bytes() uint64 { return r.base.bytes() + r.objects.size() }

// objectsDiff shows the lines in which objects differ.
func objectsDiff(got, want []shard.ObjectState) string {
	lines := func(list []shard.ObjectState) (lines []string) {
		for _, o := range list {
			lines = append(lines, fmt.Sprintf("%s %v revision %d", o.Name, o.Kind, o.Revision))
			for _, line := range strings.Split(o.Body, "\n") {
				lines = append(lines, o.Name+": "+line)
			}
			for _, l := range o.Links {
				lines = append(lines, fmt.Sprintf("%s: %+v", o.Name, l))
			}
		}
		return lines
	}
	var b strings.Builder
	for _, side := range []struct {
		mark         string
		lines, other []string
	}{{"-", lines(want), lines(got)}, {"+", lines(got), lines(want)}} {
		for _, line := range side.lines {
			if !slices.Contains(side.other, line) {
				fmt.Fprintf(&b, "%s %s\n", side.mark, line)
			}
		}
	}
	return b.String()
}

// snapshot saves the machine as it was some steps ago, and goes on with a replica that was restored, now and then.
func (r *objectRun) snapshot() error {
	if r.saved == nil {
		if r.IntN(15) == 0 {
			sn, err := r.m.PrepareSnapshot()
			if err != nil {
				return err
			}
			r.saved = &objectSave{snapshot: sn, state: r.m.State(), wait: r.IntN(8)}
		}
		return nil
	}
	if r.saved.wait--; r.saved.wait >= 0 {
		return nil
	}
	saved := r.saved
	r.saved = nil
	defer saved.snapshot.Discard()
	var file bytes.Buffer
	if err := saved.snapshot.Save(&file, nil); err != nil {
		return err
	}
	m := New(TestKinds, Options{History: 64, Bounds: r.m.core.bounds})
	if err := m.Restore(&file); err != nil {
		return err
	}
	if got := m.State(); !reflect.DeepEqual(got.Objects, saved.state.Objects) {
		return fmt.Errorf("objects as they are restored, and were saved:\n%s",
			objectsDiff(got.Objects, saved.state.Objects))
	}
	return r.restart()
}

// restart goes on with a replica that was restored, which has the digest of the other one.
func (r *objectRun) restart() error {
	sn, err := r.m.PrepareSnapshot()
	if err != nil {
		return err
	}
	defer sn.Discard()
	var file bytes.Buffer
	if err := sn.Save(&file, nil); err != nil {
		return err
	}
	m := New(TestKinds, Options{History: 64, Bounds: r.m.core.bounds})
	if err := m.Restore(&file); err != nil {
		return err
	}
	if m.Digest() != r.m.Digest() {
		return fmt.Errorf("the digest of the restored replica is another")
	}
	r.m = m
	r.tamper("restart")
	return r.check(m)
}

// pick returns one of the list.
func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// shortened is how many of so many seeds are played: the race detector plays one of four.
func shortened(seeds uint64) uint64 {
	if testing.Short() {
		return (seeds + 3) / 4
	}
	return seeds
}
