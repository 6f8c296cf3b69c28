package meta

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// grown is a machine at the level that has numbers.
func grown(t testing.TB) *Machine {
	t.Helper()
	m := bootstrapped(2)
	h := host(1, "a")
	h.Level = level.Newest
	run(m, register(h), Command{Kind: CmdClusterLevel, Raise: level.Newest})
	if m.Level() != level.Newest {
		t.Fatal("the level has not risen")
	}
	return m
}

// by gives a command a number.
func by(client byte, number, since uint64, c Command) Command {
	c.Numbered = Numbered{Client: ClientID{client}, Number: number, Since: since}
	c.Level = LevelOf(&c)
	return c
}

// TestNumberOfANodeChangeBelongsToOneRequest: a different change with the number is refused and has no effect.
func TestNumberOfANodeChangeBelongsToOneRequest(t *testing.T) {
	changes := []Command{
		create("/a", cfg(2000, 0)), create("/b", cfg(2000, 0)), create("/a", cfg(3000, 0)), alter("/a", cfg(2000, 0)),
		{Kind: CmdNodeAlter, Path: "/a", Config: cfg(2000, 0), Expected: 1}, drop("/a"), drop("/b"),
		{Kind: CmdNodeDrop, Path: "/a", Node: 1},
	}
	m := grown(t)
	for i, first := range changes {
		first = by(1, uint64(i+1), m.NextAnswer(), first)
		answered := run(m, first)[0]
		before := m.State()
		for j, other := range changes {
			other.Numbered, other.Level = first.Numbered, first.Level
			status := answered.Status
			if i != j {
				status = protocol.StatusSequenceReused
			}
			if got := run(m, other)[0].Status; got != status {
				t.Errorf("%v %s under the number of a %v of %s: %v, want %v", other.Kind, other.Path, first.Kind,
					first.Path, got, status)
			}
		}
		if !reflect.DeepEqual(before, m.State()) {
			t.Errorf("what came under the number of change %d changed something", i)
		}
	}
}

func TestANumberedCommandIsCarriedOutOnce(t *testing.T) {
	m := grown(t)
	for _, c := range []struct {
		command, between Command
		want             protocol.Status
	}{
		{create("/a", cfg(2000, 0)), create("/z1", Config{}), protocol.StatusSuccess},
		{alter("/a", cfg(3000, 0)), alter("/a", cfg(4000, 0)), protocol.StatusSuccess},
		{Command{Kind: CmdNodeAlter, Path: "/a", Config: cfg(5000, 0), Expected: 3}, alter("/a", cfg(6000, 0)),
			protocol.StatusSuccess},
		{drop("/a"), create("/a", Config{}), protocol.StatusSuccess},
		{drop("/none"), create("/none", Config{}), protocol.StatusNotFound},
		{create("bad path", Config{}), create("/z2", Config{}), protocol.StatusBadRequest},
	} {
		next := m.NextAnswer()
		c.command = by(1, next, next, c.command)
		first := run(m, c.command)[0]
		run(m, c.between)
		before := m.State()
		again := run(m, c.command)
		if first.Status != c.want || len(again) != 1 || again[0].Flags != FlagRepeated ||
			again[0].Status != first.Status || again[0].Node != first.Node || again[0].Message != first.Message {
			t.Errorf("%v: first %+v\nthen %+v", c.command.Kind, first, again)
		}
		if after := m.State(); !reflect.DeepEqual(before, after) || after.NextAnswer != next+1 {
			t.Errorf("%v changed something when it came again", c.command.Kind)
		}
	}
}

func TestNumbersAreOfOneClientAndOneCommand(t *testing.T) {
	m := grown(t)
	ok(t, m, by(1, 7, 1, create("/a", Config{})))
	if got := run(m, by(2, 7, 1, create("/b", Config{})))[0]; got.Node.Path != "/b" {
		t.Errorf("the number of another client: %+v", got)
	}
	if got := run(m, by(1, 7, 1, drop("/a")))[0]; got.Status != protocol.StatusSequenceReused {
		t.Errorf("the number of another command: %+v", got)
	}
	for _, c := range []Command{by(0, 8, 1, drop("/a")), by(1, 0, 1, drop("/a"))} {
		if got := run(m, c)[0]; got.Status != protocol.StatusBadRequest {
			t.Errorf("%+v: %+v", c.Numbered, got)
		}
	}
	if next := m.NextAnswer(); next != 3 {
		t.Errorf("what is wrong in its form is kept: %d", next)
	}
}

func TestWhatIsToBeTriedAgainIsNotKept(t *testing.T) {
	m := grown(t)
	for i := range MaxDropping {
		run(m, create("/a", Config{}), drop("/a"))
		if i == 0 {
			run(m, create("/b", Config{}))
		}
	}
	c := by(1, 1, 1, drop("/b"))
	if got := run(m, c)[0]; got.Status != protocol.StatusOverloaded {
		t.Fatalf("%+v", got)
	}
	run(m, cleared(1, 1), cleared(1, 2))
	if got := run(m, c)[0]; got.Status != protocol.StatusSuccess || got.Flags != FlagChanged {
		t.Errorf("%+v", got)
	}
}

func TestAFrozenStateKeepsItsAnswers(t *testing.T) {
	m := grown(t)
	for i := range uint64(MaxAnswers) {
		run(m, by(1, i+1, i+1, drop("/a")))
	}
	frozen, before := m.freeze(), m.State()
	for i := range uint64(3 * MaxAnswers) {
		run(m, by(2, i+1, m.NextAnswer(), drop("/b")))
	}
	if !reflect.DeepEqual(values(frozen.answers), before.Answers) {
		t.Error("the answers of a frozen state have changed")
	}
	if got := m.State(); got.NextAnswer != 4*MaxAnswers+1 || len(got.Answers) != MaxAnswers ||
		len(m.answers.places) != MaxAnswers || got.Answers[0].Number != 2*MaxAnswers+1 {
		t.Errorf("%d answers up to %d, %d places", len(got.Answers), got.NextAnswer, len(m.answers.places))
	}
	mustEqual(t, copyOf(t, m), m)
}

var numberSeek = flag.Int("numbers.seek", 0,
	"for each planted mistake, how many seeds to look through for those that show it")

// TestMistakesInNumbersAreNoticed: copied numbered commands are delayed, duplicated and reordered, between restores and
// behind floods from other clients; with a bug, the run breaks a rule in playNumbers.
func TestMistakesInNumbersAreNoticed(t *testing.T) {
	_ = grown(t)
	for _, c := range []struct {
		name    string
		mistake mistake
		seed    uint64
		says    string
	}{
		{"none", mistake{}, 1, ""},
		{"answers are not in the snapshot", mistake{restored: func(m *Machine) { m.answers = newAnswers() }}, 1,
			"Success again"},
		{"answers are not in the snapshot, but counted", mistake{restored: func(m *Machine) {
			next := m.answers.next
			m.answers = newAnswers()
			m.answers.next = next
		}}, 1, "STALE"},
		{"since is ignored", mistake{command: func(c *Command) { c.Numbered.Since = math.MaxUint64 }}, 2,
			"Success again"},
		{"answers are found by the number alone", mistake{command: func(c *Command) {
			c.Numbered.Client = ClientID{1}
		}}, 1, "of another"},
		{"numbers are ignored", mistake{command: func(c *Command) { c.Numbered = Numbered{} }}, 2, "Success again"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			for seed := uint64(1); seed <= uint64(*numberSeek); seed++ {
				t.Logf("seed %d: %v", seed, playNumbers(t, seed, c.mistake))
			}
			if c.says == "" {
				for seed := range uint64(6) {
					if err := playNumbers(t, seed, c.mistake); err != nil {
						t.Errorf("seed %d: %v", seed, err)
					}
				}
				return
			}
			if err := playNumbers(t, c.seed, c.mistake); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("seed %d found %v", c.seed, err)
			}
		})
	}
}

// mistake is a deliberate bug, in commands before they are applied, or in machines after a restore.
type mistake struct {
	command  func(*Command)
	restored func(*Machine)
}

// attempt is a correct client's numbered command, with its copies' results.
type attempt struct {
	command Command
	result  *Effect
}

// playNumbers runs a test and returns the broken rule: no number changes anything twice, each copy is answered like the
// first, and only a copy first sent MaxAnswers answers ago is STALE.
func playNumbers(t *testing.T, seed uint64, err mistake) error {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 23))
	m := grown(t)
	var sent []*attempt
	numbers := map[byte]uint64{}
	given := uint64(0)
	apply := func(c Command) Effect {
		if err.command != nil {
			err.command(&c)
		}
		return run(m, c)[0]
	}
	for range 400 {
		switch n := r.IntN(100); {
		case n < 1: // a flood from another client
			for range MaxAnswers - 20 + r.IntN(30) {
				numbers[9]++
				apply(by(9, numbers[9], m.NextAnswer(), drop("/none")))
				given++
			}
		case n < 5:
			m = copyOf(t, m)
			if err.restored != nil {
				err.restored(m)
			}
		case n < 50 || len(sent) == 0:
			client, path := byte(1+r.IntN(3)), []string{"/a", "/b", "/c"}[r.IntN(3)]
			numbers[client]++
			c := []Command{create(path, Config{}), drop(path), alter(path, cfg(1000+r.Uint64N(3)*1000, 0))}[r.IntN(3)]
			since := given + 1 - min(given, r.Uint64N(5))
			sent = append(sent, &attempt{command: by(client, numbers[client], since, c)})
		}
		if len(sent) == 0 {
			continue
		}
		a := sent[max(0, len(sent)-1-r.IntN(10))]
		n := a.command.Numbered
		got := apply(a.command)
		late := n.Since+MaxAnswers <= given
		switch {
		case got.Status == protocol.StatusStale:
			if !late {
				return fmt.Errorf("number %d, first sent at %d, is STALE at %d", n.Number, n.Since, given)
			}
		case a.result == nil:
			if got.Flags&FlagRepeated != 0 || got.Status == protocol.StatusBadRequest {
				return fmt.Errorf("number %d has the answer of another: %+v", n.Number, got)
			}
			a.result = &got
			given++
		case got.Flags&FlagChanged != 0:
			return fmt.Errorf("number %d was Success again", n.Number)
		case got.Status != a.result.Status || got.Node != a.result.Node || got.Message != a.result.Message:
			return fmt.Errorf("number %d has the answer %+v, the first time %+v", n.Number, got, *a.result)
		}
	}
	return nil
}

// TestTheFormOfANumberIsFixed: the bytes stand in logs and snapshots on disk.
func TestTheFormOfANumberIsFixed(t *testing.T) {
	plain := Command{Kind: CmdNodeDrop, Path: "/a", Level: level.First}
	numbered := by(7, 300, 5, drop("/a"))
	const client = "\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	for want, c := range map[string]Command{
		"\x01\x06\x03\x00" + "\x02/a\x00":                                plain,
		"\x01\x19\x03\x01" + client + "\xac\x02" + "\x05" + "\x02/a\x00": numbered,
	} {
		src := encoded(t, &Batch{Commands: []Command{c}})
		if got := string(src[19:]); got != want {
			t.Errorf("%x, want %x", got, want)
		}
		var b Batch
		if err := DecodeBatch(src, &b, level.Newest); err != nil || !reflect.DeepEqual(b.Commands[0], c) {
			t.Errorf("%+v came back as %+v, %v", c, b.Commands, err)
		}
	}
	head := "\x01" + strings.Repeat("\x00", 16) + "\x01\x00"
	for want, body := range map[string]string{
		"this build does not know a part": "\x03\x02\x02/a\x00",
		"cut short":                       "\x03\x01abc",
		"a number without a client":       "\x03\x01" + strings.Repeat("\x00", 18) + "\x02/a\x00",
		"a number is cut off":             "\x03\x01" + client,
	} {
		var b Batch
		src := head + "\x01" + string(rune(len(body))) + body
		err := DecodeBatch([]byte(src), &b, level.Newest)
		if !errors.Is(err, ErrBatch) || !strings.Contains(err.Error(), want) {
			t.Errorf("%x: %v, want %q", body, err, want)
		}
		if newer := strings.Contains(want, "does not know"); newer != errors.Is(err, shard.ErrNewerFormat) {
			t.Errorf("%x: %v", body, err)
		}
	}
	a := Answer{
		Client: ClientID{7}, Number: 300, Kind: CmdNodeCreate, Status: protocol.StatusNotFound, Flags: FlagExisted,
		Routing: 3, Message: "no",
	}
	write := func(c *codec.Coder) { _ = a.fields(c) }
	if got := string(codec.Save(nil, write)); got != "\x06"+client+"\xac\x02\x01\x03\x01\x03\x02no" {
		t.Errorf("%x", got)
	}
}

func TestAnswersThatCannotBeAreRefused(t *testing.T) {
	good := func() *Machine {
		m := grown(t)
		run(m, by(1, 1, 1, create("/a", Config{})), by(1, 2, 1, drop("/none")))
		return m
	}
	for want, breakIt := range map[string]func(*Machine){
		"have the same number 1":               func(m *Machine) { m.answers.kept[1].Number = 1 },
		"no client or no number":               func(m *Machine) { m.answers.kept[1].Client = ClientID{} },
		"more answers than positions before 2": func(m *Machine) { m.answers.next = 2 },
		"answer positions begin with 1":        func(m *Machine) { m.answers.next = 0 },
		"does not exist at level":              func(m *Machine) { m.answers.kept[1].Kind = 99 },
		"was never assigned":                   func(m *Machine) { m.answers.kept[0].Node.ID = 99 },
		"the kept answer reports a change":     func(m *Machine) { m.answers.kept[0].Flags |= FlagChanged },
		"bytes long": func(m *Machine) {
			m.answers.kept[0].Message = strings.Repeat("x", MaxMessage+1)
		},
	} {
		m := good()
		breakIt(m)
		refused(t, saved(t, m), want)
	}
	m := good()
	mustEqual(t, copyOf(t, m), m)
	src := saved(t, m)
	part := bytes.Index(src, append([]byte{answerNode | answerAsked}, m.answers.kept[0].Client[:]...))
	src[part] = 1 << 6
	err := refused(t, sealed(src), "this build does not know a part")
	if !errors.Is(err, ErrSnapshotNewer) {
		t.Errorf("%v", err)
	}
}
