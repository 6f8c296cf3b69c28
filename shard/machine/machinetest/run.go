package machinetest

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

// ObjectModel is a naive model for one kind's objects in a shard after a command.
type ObjectModel[M Machine] interface {
	// End releases a session's holdings, Drop removes all objects, Due applies effects of time.
	End(id shard.SessionID)
	Drop()
	Due()
	// Objects are all objects in State form. Size is their size in quotas. Alarms are their alarm times.
	Objects() []shard.ObjectState
	Size() uint64
	Alarms() []uint64
	// View compares the machine's reads with the model.
	View(m M) error
}

// ModelShard is the common part in all kinds' models.
type ModelShard struct {
	Now      uint64
	Wall     uint64
	Order    shard.OrderID
	Revision shard.Revision
	Limit    uint64 // of bytes
	Sessions map[shard.SessionID]*ModelSession
}

// ModelSession is a session, with its last answer's body length.
type ModelSession struct {
	Number uint64
	Body   int
}

// NewModelShard returns an empty shard's model.
func NewModelShard() *ModelShard {
	return &ModelShard{Limit: shard.DefaultNodeBytes, Sessions: map[shard.SessionID]*ModelSession{}}
}

// NextOrder returns shard 1's next order id.
func NextOrder(last shard.OrderID) shard.OrderID {
	for last++; last%1024 != 1; {
		last++
	}
	return last
}

// Bytes is the quota size of sessions and their answers.
func (ms *ModelShard) Bytes() (n uint64) {
	for _, s := range ms.Sessions {
		n += shard.SessionBytes
		if s.Number > 0 {
			n += shard.AnswerBytes
		}
		if s.Body > 0 {
			n += uint64(shard.AnswerBodyBytes + s.Body)
		}
	}
	return n
}

// ObjectRun runs the same random commands on a machine and on a model with one kind's objects.
type ObjectRun[M Machine] struct {
	Bed[M]
	*rand.Rand
	Followers []*RowFollower
	Tally     map[string]int
	Mutate    func(id shard.SessionID) error // sends a session's command
	Applied   func(list []shard.Effect)      // receives the commands' effects
	After     func() error                   // checks the machine after each step
	Tamper    func(moment string)            // a mistake

	base    *ModelShard
	objects ObjectModel[M]
	empty   func() M // makes a machine
	saved   *objectSave
}

// objectSave is a snapshot saved some steps later, after further changes.
type objectSave struct {
	snapshot shard.Snapshot
	state    shard.State
	wait     int
}

// NewObjectRun returns a run on machines created by empty.
func NewObjectRun[M Machine](empty func() M, seed, stream uint64, base *ModelShard, model ObjectModel[M],
	tally map[string]int) *ObjectRun[M] {
	return &ObjectRun[M]{
		Bed: New(empty(), 0), Rand: rand.New(rand.NewPCG(seed, stream)), base: base, objects: model, Tally: tally,
		empty: empty, Applied: func([]shard.Effect) {}, After: func() error { return nil }, Tamper: func(string) {},
	}
}

// Play runs a run, and returns the first failure. early is a command from the run.
func (r *ObjectRun[M]) Play(early shard.CommandKind, steps int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	r.Do(shard.Command{Kind: early, Level: level.Newest + 1, Node: 1, Name: []byte("early")})
	if e := r.Result(); e.Status != protocol.StatusUnsupported {
		return fmt.Errorf("below its level a command is answered %v", e.Status)
	}
	r.At = level.Newest
	r.Do(shard.Command{Kind: shard.CmdLead, Term: 1})
	for i := range steps {
		if err := r.step(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		r.Tamper("step")
		if err := r.check(r.M); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		if err := r.After(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		for _, f := range r.Followers {
			if r.IntN(3) == 0 {
				if err := f.CatchUp(r.M); err != nil {
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

// step runs one command, and compares its answer.
func (r *ObjectRun[M]) step() error {
	r.base.Now += uint64(r.IntN(40) * r.IntN(40))
	r.One.Stamp.Elapsed = r.base.Now
	r.base.Wall = 0
	ids := slices.Sorted(maps.Keys(r.base.Sessions))
	switch n := r.IntN(60); {
	case len(ids) < 5 || n == 0:
		id := r.All(shard.Command{Kind: shard.CmdSessionCreate, Slot: shard.Slot(r.IntN(shard.Slots)), Node: 1}).Session
		if id != 0 {
			r.base.Sessions[id] = &ModelSession{}
		}
	case n == 1:
		id, other := ids[r.IntN(len(ids))], ids[r.IntN(len(ids))]
		r.objects.End(id)
		if other != id {
			r.objects.End(other)
		}
		_, changes := r.M.Slots()
		r.All(shard.Command{Kind: shard.CmdSessionsExpire, Term: 1, Count: changes,
			Sessions: []shard.SessionID{id, other}})
	case n == 2 && r.IntN(8) == 0:
		r.objects.Drop()
		r.All(shard.Command{Kind: shard.CmdNodeDrop, Node: 1, Count: 3})
	case n == 3 || n == 4:
		r.base.Limit = shard.DefaultNodeBytes
		if r.IntN(4) == 0 {
			r.base.Limit = r.bytes() + uint64(r.IntN(900))
		}
		r.All(shard.Command{Kind: shard.CmdNodeLimits, Node: 1, Bytes: r.base.Limit})
	case n < 12:
		r.base.Wall = uint64(r.IntN(100))
		r.objects.Due()
		r.All(shard.Command{Kind: shard.CmdDue, Term: 1, Time: r.base.Wall})
	default:
		return r.Mutate(ids[r.IntN(len(ids))])
	}
	return nil
}

// All applies a command and its pending work.
func (r *ObjectRun[M]) All(c shard.Command) *shard.Effect {
	for {
		r.Do(c)
		r.Applied(r.Out.List)
		answer := *r.Result()
		for r.M.Pending() > 0 {
			r.Do(shard.Command{Kind: shard.CmdContinue})
			r.Applied(r.Out.List)
		}
		if answer.Flags&shard.FlagMore == 0 {
			return &answer
		}
	}
}

// Explained reports whether an answer has a text for people: a refusal without details.
func Explained(e *shard.Effect) bool {
	return e.Status != protocol.StatusSuccess && e.Status != protocol.StatusQuotaExceeded
}

// check compares the machine with the model.
func (r *ObjectRun[M]) check(m M) error {
	state := m.State()
	for k := range state.Objects {
		if len(state.Objects[k].Links) == 0 {
			state.Objects[k].Links = nil
		}
	}
	want, alarms := r.objects.Objects(), r.objects.Alarms()
	next := uint64(0)
	if len(alarms) > 0 {
		next = slices.Min(alarms)
	}
	at, _ := m.NextAlarm()
	switch {
	case !reflect.DeepEqual(state.Objects, want):
		return fmt.Errorf("objects (- model, + machine):\n%s", objectsDiff(state.Objects, want))
	case state.LastOrder != r.base.Order || state.LastRevision != r.base.Revision || state.Now != r.base.Now:
		return fmt.Errorf("order id %d, revision %d at %d, not %d, %d at %d", state.LastOrder, state.LastRevision,
			state.Now, r.base.Order, r.base.Revision, r.base.Now)
	case len(state.Sessions) != len(r.base.Sessions):
		return fmt.Errorf("%d sessions, not %d", len(state.Sessions), len(r.base.Sessions))
	case m.Usage(0).Bytes != r.bytes():
		return fmt.Errorf("%d bytes count, not %d", m.Usage(0).Bytes, r.bytes())
	case at != next || m.Alarms() != len(alarms):
		return fmt.Errorf("%d wait, the first for %d; it should be %d, for %d", m.Alarms(), at, len(alarms), next)
	}
	if err := CheckLeaks(m); err != nil {
		return err
	}
	return r.objects.View(m)
}

// bytes is the total size in quotas.
func (r *ObjectRun[M]) bytes() uint64 { return r.base.Bytes() + r.objects.Size() }

// objectsDiff shows differing lines.
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

// snapshot saves the machine's state from some steps ago, and sometimes continues with a restored replica.
func (r *ObjectRun[M]) snapshot() error {
	if r.saved == nil {
		if r.IntN(15) == 0 {
			sn, err := r.M.PrepareSnapshot()
			if err != nil {
				return err
			}
			r.saved = &objectSave{snapshot: sn, state: r.M.State(), wait: r.IntN(8)}
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
	m := r.empty()
	if err := m.Restore(&file); err != nil {
		return err
	}
	if got := m.State(); !reflect.DeepEqual(got.Objects, saved.state.Objects) {
		return fmt.Errorf("objects as they are restored, and were saved:\n%s",
			objectsDiff(got.Objects, saved.state.Objects))
	}
	return r.restart()
}

// restart replaces the replica, in one of two ways: by a replica restored from a snapshot, which must have the same
// digest, or by another shard's replica, to which all slots have moved.
func (r *ObjectRun[M]) restart() error {
	sn, err := r.M.PrepareSnapshot()
	if err != nil {
		return err
	}
	defer sn.Discard()
	var file bytes.Buffer
	if err := sn.Save(&file, nil); err != nil {
		return err
	}
	m := r.empty()
	if err := m.Restore(&file); err != nil {
		return err
	}
	if m.Digest() != r.M.Digest() {
		return fmt.Errorf("the digest of the restored replica is another")
	}
	if r.M = m; r.IntN(2) == 0 && r.base.Now > 0 {
		r.M = r.empty()
		if err := MoveAll(m, r.M); err != nil {
			return fmt.Errorf("move all slots: %w", err)
		}
	}
	r.Tamper("restart")
	return r.check(r.M)
}

// Shortened returns the number of seeds to run: with the race detector, a quarter.
func Shortened(seeds uint64) uint64 {
	if testing.Short() {
		return (seeds + 3) / 4
	}
	return seeds
}
