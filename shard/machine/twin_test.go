package machine_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
	"github.com/signalbox/signalbox/test/twin"
)

var (
	twinCommands = flag.Int("twin.commands", 200_000,
		"how many random commands the machine and its twin are driven with")
	twinSeed = flag.Uint64("twin.seed", 0, "seed of the first run; 0 draws one")
)

const (
	shortRun = 1000
	longRun  = 12_000 // long enough for a session to fill up with answers
	// every everyLong-th run is a long one
	everyLong = 16
	// snapshotEvery is how many commands pass before the machine is saved and restored again.
	snapshotEvery = 300
	// readsEvery is the number of batches between read comparisons.
	readsEvery = 20
	// shownAtMost is the number of last commands shown in a failure.
	shownAtMost = 40
	shrinkFor   = 20 * time.Second
)

// TestMachineAgreesWithItsTwin: the machine and its naive twin get the same random commands and must have the same
// effects and states. Every batch goes through the codec; sometimes the machine is saved and restored.
func TestMachineAgreesWithItsTwin(t *testing.T) {
	commands, seed := *twinCommands, *twinSeed
	if testing.Short() {
		commands = min(commands, 20_000)
	}
	if seed == 0 {
		seed = rand.Uint64N(1 << 40)
	}
	t.Logf("first seed: %d", seed)
	tally := make(tally)
	for done := 0; done < commands; seed++ {
		r := newRun(seed, tally)
		if err := r.play(); err != nil {
			r.report(t, err)
			return
		}
		done += r.commands
	}
	if testing.Verbose() {
		t.Log(tally)
	}
	if commands >= 200_000 {
		tally.check(t)
	}
}

// duel is a twin and the machines to compare with it.
type duel struct {
	options  machine.Options
	naive    *twin.Twin
	machines []*contestant
	state    shard.State // the twin's, before the next batch
	earlier  shard.State // the twin's, when reads were looked at before
	expected shard.Effects
}

// contestant is a machine behind the codec.
type contestant struct {
	*machine.Machine
	name    string
	encoded []byte
	batch   shard.Batch
	effects shard.Effects
}

func newContestant(name string, o machine.Options) *contestant {
	return &contestant{name: name, Machine: machine.New(machine.TestKinds, o)}
}

func newDuel(o machine.Options) *duel {
	d := &duel{options: o, naive: twin.New(o), machines: []*contestant{newContestant("machine", o)}}
	d.state = d.naive.State()
	return d
}

// apply applies the batch to all and returns the first failure.
func (d *duel) apply(b *shard.Batch) error {
	if err := d.applyQuickly(b); err != nil {
		return err
	}
	after := d.naive.State()
	for _, m := range d.machines {
		if err := d.compare(m, after); err != nil {
			return err
		}
		if err := d.compareUsage(m); err != nil {
			return err
		}
		if err := machinetest.CheckLeaks(m.Machine); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	if err := twin.Check(after, d.naive.Owned()); err != nil {
		return fmt.Errorf("twin: %w", err)
	}
	if slices.ContainsFunc(b.Commands, func(c shard.Command) bool { return isSlotCommand(c.Kind) }) {
		d.state = after
		return nil
	}
	if err := twin.CheckChange(&d.state, &after, d.expected.List); err != nil {
		return fmt.Errorf("twin: %w", err)
	}
	d.state = after
	return nil
}

// applyQuickly applies the batch to all and compares nothing but the effects.
func (d *duel) applyQuickly(b *shard.Batch) error {
	d.expected.Reset()
	d.naive.Apply(b, &d.expected)
	for _, m := range d.machines {
		if err := m.apply(b); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		for i := range m.effects.List {
			if e := &m.effects.List[i]; isSlotCommand(b.Commands[e.Op].Kind) && e.Kind == shard.EffectResult {
				e.Body = "" // a reason for people
			}
		}
		if !slices.Equal(m.effects.List, d.expected.List) {
			return fmt.Errorf("%s: effects differ (- twin, + machine)\n%s", m.name,
				effectsDiff(m.effects.List, d.expected.List))
		}
	}
	return nil
}

func (d *duel) compare(m *contestant, want shard.State) error {
	got := m.State()
	for i := range got.Sessions {
		if len(got.Sessions[i].Answers) == 0 {
			got.Sessions[i].Answers = nil
		}
	}
	for i := range got.Slots {
		got.Slots[i].Why, got.Slots[i].Digest = "", 0
	}
	for i := range got.Semaphores {
		if len(got.Semaphores[i].Links) == 0 {
			got.Semaphores[i].Links = nil
		}
	}
	got.Nodes = slices.Clip(append([]shard.NodeState(nil), got.Nodes...))
	got.Sessions = append([]shard.SessionState(nil), got.Sessions...)
	got.Semaphores = append([]shard.SemaphoreState(nil), got.Semaphores...)
	if reflect.DeepEqual(got, want) {
		return nil
	}
	diff := twin.Difference(twin.StateText(&got), twin.StateText(&want))
	if diff == "" {
		diff = fmt.Sprintf("in what the text does not show, or in the order:\nmachine %+v\ntwin %+v", got, want)
	}
	return fmt.Errorf("%s: states differ (- twin, + machine)\n%s", m.name, diff)
}

// compareUsage compares quota usage. The twin counts from scratch.
func (d *duel) compareUsage(m *contestant) error {
	if got, want := m.Usage(0), d.naive.ShardUsage(); got != want {
		return fmt.Errorf("%s: the shard takes %+v, to the twin %+v", m.name, got, want)
	}
	for _, n := range m.State().Nodes {
		if got, want := m.Usage(n.ID), d.naive.NodeUsage(n.ID); n.ID != 0 && got != want {
			return fmt.Errorf("%s: node %d takes %+v, to the twin %+v", m.name, n.ID, got, want)
		}
	}
	return nil
}

// read compares the readers' views.
func (d *duel) read() error {
	for _, m := range d.machines {
		if err := checkReads(m.Machine, &d.earlier, &d.state); err != nil {
			return fmt.Errorf("%s: reads: %w", m.name, err)
		}
	}
	d.earlier = d.state
	// The restored machine has a different memory layout.
	for _, m := range d.machines[1:] {
		if got, want := m.Digest(), d.machines[0].Digest(); got != want {
			return fmt.Errorf("digests of equal states: %x and %x", got, want)
		}
	}
	return nil
}

func effectsDiff(got, want []shard.Effect) string {
	var b strings.Builder
	for i := range max(len(got), len(want)) {
		var g, w string
		if i < len(got) {
			g = twin.EffectText(&got[i])
		}
		if i < len(want) {
			w = twin.EffectText(&want[i])
		}
		if i < len(got) && i < len(want) && got[i] == want[i] {
			fmt.Fprintf(&b, "  %s\n", g)
		} else {
			fmt.Fprintf(&b, "- %s\n+ %s\n", w, g)
		}
	}
	return b.String()
}

// apply sends the batch through the codec and applies it. The bytes are overwritten before the result is read, like by
// a log.
func (co *contestant) apply(b *shard.Batch) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	co.encoded = shard.AppendBatch(co.encoded[:0], b)
	if err := shard.DecodeBatch(co.encoded, &co.batch, co.Level()); err != nil {
		return fmt.Errorf("decode what was encoded: %w", err)
	}
	if err := sameBatch(&co.batch, b, co.Level()); err != nil {
		return err
	}
	co.effects.Reset()
	co.Apply(&co.batch, &co.effects)
	for i := range co.encoded {
		co.encoded[i] = 0xA5
	}
	return nil
}

func sameBatch(got, want *shard.Batch, at level.Level) error {
	if got.Stamp != want.Stamp {
		return fmt.Errorf("decoded the stamp %+v from %+v", got.Stamp, want.Stamp)
	}
	if got.Proposer != want.Proposer || got.Sequence != want.Sequence || len(got.Commands) != len(want.Commands) {
		return fmt.Errorf("decoded batch of %d, %d, %d commands from %d, %d, %d commands", got.Proposer, got.Sequence,
			len(got.Commands), want.Proposer, want.Sequence, len(want.Commands))
	}
	for i := range want.Commands {
		g, w := plain(got.Commands[i]), plain(want.Commands[i])
		if w.Level = max(w.Level, shard.LevelOf(&w)); w.Level > at {
			w = shard.Command{Level: w.Level} // not decoded
		}
		if !reflect.DeepEqual(g, w) {
			return fmt.Errorf("command %d does not survive the codec:\n- %s\n+ %s", i, twin.CommandText(&w),
				twin.CommandText(&g))
		}
	}
	return nil
}

// plain turns empty lists into nil: the codec does not distinguish them.
func plain(c shard.Command) shard.Command {
	c.Name = append([]byte(nil), c.Name...)
	c.Data = append([]byte(nil), c.Data...)
	c.Key = append([]byte(nil), c.Key...)
	c.Body = append([]byte(nil), c.Body...)
	c.Client = shard.ClientRef{
		Address: append([]byte(nil), c.Client.Address...), Name: append([]byte(nil), c.Client.Name...),
		Version: append([]byte(nil), c.Client.Version...),
	}
	c.Sessions = append([]shard.SessionID(nil), c.Sessions...)
	return c
}

// run is one sequence of random batches.
type run struct {
	*duel
	seed     uint64
	source   *twin.Generator
	tally    tally
	batches  []*shard.Batch
	commands int
	saved    *savepoint
}

// savepoint is a prepared snapshot, to be saved some batches later.
type savepoint struct {
	snapshot shard.Snapshot
	state    shard.State
	after    int // batches applied before it
	wait     int // batches until it is saved
}

func newRun(seed uint64, tally tally) *run {
	source := twin.NewGenerator(seed)
	return &run{duel: newDuel(source.Options()), seed: seed, source: source, tally: tally}
}

func (r *run) play() error {
	length := shortRun
	if r.seed%everyLong == 0 {
		length = longRun
	}
	nextSnapshot := snapshotEvery
	for r.commands < length {
		b := r.source.Batch(&r.state)
		r.batches = append(r.batches, b)
		r.commands += len(b.Commands)
		if err := r.apply(b); err != nil {
			return err
		}
		r.tally.count(b, r.expected.List)
		if len(r.batches)%readsEvery == 0 {
			if err := r.read(); err != nil {
				return err
			}
		}
		if r.commands >= nextSnapshot && r.saved == nil {
			nextSnapshot = r.commands + snapshotEvery
			if err := r.prepare(); err != nil {
				return err
			}
		}
		if r.saved != nil {
			if r.saved.wait--; r.saved.wait < 0 {
				if err := r.restore(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// prepare fixes the state of the most recently restored machine.
func (r *run) prepare() error {
	snapshot, err := r.machines[0].PrepareSnapshot()
	if err != nil {
		return fmt.Errorf("prepare a snapshot: %w", err)
	}
	r.saved = &savepoint{snapshot: snapshot, state: r.state, after: len(r.batches), wait: r.commands % 12}
	return nil
}

// restore saves the prepared snapshot, after further changes, and restores it over a machine with other content. The
// restored machine catches up and takes part from then on.
func (r *run) restore() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("snapshot: panic: %v\n%s", p, debug.Stack())
		}
	}()
	s := r.saved
	r.saved = nil
	var file bytes.Buffer
	if err := s.snapshot.Save(&file, nil); err != nil {
		return fmt.Errorf("save a snapshot: %w", err)
	}
	s.snapshot.Discard()
	fresh := newContestant("restored machine", r.options)
	if len(r.machines) > 1 {
		fresh.Machine = r.machines[1].Machine
	}
	if err := fresh.Restore(&file); err != nil {
		return fmt.Errorf("restore a snapshot: %w", err)
	}
	if err := r.compare(fresh, s.state); err != nil {
		return fmt.Errorf("just restored: %w", err)
	}
	for _, b := range r.batches[s.after:] {
		if err := fresh.apply(b); err != nil {
			return fmt.Errorf("catching up: %w", err)
		}
	}
	if err := r.compare(fresh, r.state); err != nil {
		return fmt.Errorf("caught up: %w", err)
	}
	if err := r.compareUsage(fresh); err != nil {
		return fmt.Errorf("caught up: %w", err)
	}
	r.machines = []*contestant{fresh, r.machines[0]}
	r.naive.Restored()
	return nil
}

// report shows a failure: how to reproduce it, and a minimal list of commands.
func (r *run) report(t *testing.T, err error) {
	t.Helper()
	batches, note := r.batches, "the last commands; without saving and restoring they do not fail"
	if at, _ := replay(r.options, batches); at >= 0 {
		batches = twin.Shrink(r.options, batches[:at+1], shrinkFor, func(list []*shard.Batch) int {
			at, _ := replay(r.options, list)
			return at
		})
		_, err = replay(r.options, batches)
		note = "these commands alone fail"
	}
	var b strings.Builder
	skip := max(0, len(batches)-shownAtMost)
	for i, batch := range batches[skip:] {
		for _, c := range batch.Commands {
			fmt.Fprintf(&b, "%4d  %s\n", skip+i, twin.CommandText(&c))
		}
		if batch.Stamp.Term != 0 {
			fmt.Fprintf(&b, "      proposed in term %d after %d ms\n", batch.Stamp.Term, batch.Stamp.Elapsed)
		}
	}
	t.Errorf("%v\n%s (%d batches):\n%sagain: go test ./shard -run TestMachineAgreesWithItsTwin -twin.commands=1 "+
		"-twin.seed=%d",
		err, note, len(batches), b.String(), r.seed)
}

// replay applies the batches to a new machine and a new twin and returns the batch at which they differ, or a negative
// number. Effects are compared for every batch, everything else only at the last one, for speed.
func replay(o machine.Options, batches []*shard.Batch) (int, error) {
	d := newDuel(o)
	for i, b := range batches {
		if i == max(0, len(batches)-readsEvery) {
			d.earlier = d.naive.State()
		}
		if i < len(batches)-1 {
			if err := d.applyQuickly(b); err != nil {
				return i, err
			}
			continue
		}
		d.state = d.naive.State()
		if err := d.apply(b); err != nil {
			return i, err
		}
		if err := d.read(); err != nil {
			return i, err
		}
	}
	return -1, nil
}

// tally counts the results of commands.
type tally map[string]int

func (ta tally) count(b *shard.Batch, effects []shard.Effect) {
	for _, e := range effects {
		kind := b.Commands[e.Op].Kind
		if e.Kind != shard.EffectResult {
			ta["effect "+e.Kind.String()+" "+e.Abort.String()+" "+e.End.String()]++
			continue
		}
		flags := e.Flags & (shard.FlagAcquired | shard.FlagQueued | shard.FlagReleased | shard.FlagMore)
		ta[fmt.Sprintf("%v %v %b", kind, e.Status, flags)]++
		if e.Quota != shard.QuotaNone {
			ta["refused for "+e.Quota.String()]++
		}
		if e.Body != "" {
			ta["answers with a body"]++
		}
		// Narrow quotas are random and refuse most commands: they do not measure the aim.
		if kind == shard.CmdAcquire && e.Quota == shard.QuotaNone &&
			e.Status != protocol.StatusUnavailable { // from a former leader
			ta["acquires"]++
			if e.Status == protocol.StatusSuccess {
				ta["acquires that mean something"]++
			}
		}
	}
}

// check fails the test if the generator's aim is too poor for a meaningful result.
func (ta tally) check(t *testing.T) {
	if ta["acquires that mean something"]*10 < ta["acquires"]*6 {
		t.Errorf("of %d acquires only %d mean something", ta["acquires"], ta["acquires that mean something"])
	}
	outcomes := []string{
		"acquire OVERLOADED 0", "acquire STALE 0", "acquire ABORTED 0", "acquire SESSION_EXPIRED 0",
		"acquire BAD_SESSION 0", "acquire MOVED 0", "acquire BAD_REQUEST 0", "acquire PRECONDITION_FAILED 0",
		"release FENCED 0", "semaphore-update FENCED 0", "node-drop SUCCESS 10000000", "lead STALE 0",
		"semaphore-resize UNSUPPORTED 0", "level SUCCESS 0", "level BAD_REQUEST 0", "acquire UNSUPPORTED 0",
		"digest-take SUCCESS 0",
		"effect aborted REPLACED UNKNOWN", "effect aborted RELEASED UNKNOWN", "effect aborted DELETED UNKNOWN",
		"effect lost UNKNOWN UNKNOWN", "effect timed-out UNKNOWN UNKNOWN", "effect granted UNKNOWN UNKNOWN",
		"semaphore-resize SUCCESS 0", "semaphore-resize PRECONDITION_FAILED 0", "semaphore-resize NOT_FOUND 0",
		"effect aborted RESIZED UNKNOWN", "continue SUCCESS 0", "continue SUCCESS 10000000",
		"sessions-expire SUCCESS 10000000", "sessions-forget SUCCESS 10000000",
		"waiter-withdraw SUCCESS 0", "due SUCCESS 10000000", "semaphore-create OVERLOADED 0", "node-limits SUCCESS 0",
		"node-limits BAD_REQUEST 0", "node-limits NOT_FOUND 0", "semaphore-create QUOTA_EXCEEDED 0",
		"semaphore-update QUOTA_EXCEEDED 0", "acquire QUOTA_EXCEEDED 0", "session-create QUOTA_EXCEEDED 0",
		"session-update QUOTA_EXCEEDED 0", "refused for node-objects", "refused for node-bytes",
		"refused for shard-objects", "refused for shard-bytes", "due SUCCESS 0", "due STALE 0",
		"acquire UNAVAILABLE 0", "release UNAVAILABLE 0", "exchange SUCCESS 0", "exchange NOT_FOUND 0",
		"exchange QUOTA_EXCEEDED 0", "exchange BAD_REQUEST 0", "exchange OVERLOADED 0",
		"exchange STALE 0", "answers with a body", "session-numbers SUCCESS 0",
		"session-numbers PRECONDITION_FAILED 0", "session-numbers SESSION_EXPIRED 0",
		"session-numbers BAD_SESSION 0",
	}
	for _, kind := range []string{
		"acquire", "release", "semaphore-create", "semaphore-update", "semaphore-delete", "semaphore-resize",
		"exchange",
	} {
		outcomes = append(outcomes, kind+" SEQUENCE_REUSED 0")
	}
	for _, outcome := range outcomes {
		if ta[outcome] < 10 {
			t.Errorf("%s: only %d times", outcome, ta[outcome])
		}
	}
}

// String lists the counts, one per line.
func (ta tally) String() string {
	var lines []string
	for what, n := range ta {
		lines = append(lines, fmt.Sprintf("%8d %s", n, what))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[8:], b[8:]) })
	return "what came of the commands:\n" + strings.Join(lines, "\n")
}
