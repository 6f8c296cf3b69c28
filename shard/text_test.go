package shard

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
)

// TestTextsKeepWhatTheyGot plays texts of all lengths against a list of strings. What a freed place held is overwritten
// by what comes next, so that a text whose place was given out twice is another by the end.
func TestTextsKeepWhatTheyGot(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	ts := newTexts()
	type kept struct {
		text text
		want string
	}
	var list []kept
	drawn := func() string {
		n := r.IntN(20)
		if r.IntN(4) == 0 {
			n = r.IntN(400) // long ones too
		}
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return string(b)
	}
	check := func(k kept) {
		t.Helper()
		if got := ts.string(k.text); got != k.want || !ts.is(k.text, []byte(k.want)) ||
			len(ts.bytes(k.text)) != len(k.want) {
			t.Fatalf("the text is %q and not %q", got, k.want)
		}
	}
	for range 20_000 {
		switch i := r.IntN(max(len(list), 1)); {
		case len(list) < 100 || r.IntN(2) == 0:
			s := drawn()
			list = append(list, kept{ts.keep([]byte(s)), s})
			check(list[len(list)-1])
		case r.IntN(2) == 0:
			s := drawn()
			ts.replace(&list[i].text, []byte(s))
			list[i].want = s
		default:
			check(list[i])
			ts.free(list[i].text)
			list = slices.Delete(list, i, i+1)
		}
	}
	for _, k := range list {
		check(k)
		ts.free(k.text)
	}
	for class := range ts.rooms {
		room := reflect.ValueOf(ts.rooms[class]).Elem()
		used, free := int(room.FieldByName("used").Uint())-1, room.FieldByName("free").Len()
		if used != free || used < 1 {
			t.Errorf("%d of %d places of class %d are free at the end", free, used, class)
		}
	}
	if ts.long.size() != 0 {
		t.Errorf("%d long texts stay", ts.long.size())
	}
}

// TestTextsOfEveryLengthStandWhereTheyFit: one byte of a place says how long its text is.
func TestTextsOfEveryLengthStandWhereTheyFit(t *testing.T) {
	ts := newTexts()
	for n := range 300 {
		text := ts.keep([]byte(strings.Repeat("x", n)))
		if class := text & classMask; n > 0 && class < longText && roomSizes[class] < n+1 || class > longText {
			t.Errorf("%d bytes stand in class %d", n, class)
		}
		if len(ts.bytes(text)) != n {
			t.Errorf("%d bytes were kept as %d", n, len(ts.bytes(text)))
		}
	}
}

// TestWhatReadersGotStays: all that comes out of a machine is compared, when what it is about has gone and other texts
// of the same lengths stand in the same places, with what it was.
func TestWhatReadersGotStays(t *testing.T) {
	b := newestBed(1)
	type answers struct {
		Description Description
		Delta       Delta
		Listed      []SemaphoreView
		Objects     []ObjectView
		Holdings    []Holding
		Slot        []ObjectName
		Queues      []Queue
		Sessions    []SessionView
		Described   SessionView
		State       State
		Last        string
		Effects     []Effect
	}
	var first answers
	name, data, held := []byte("of the first"), []byte("its first data"), []byte("what owners say")
	session := func(description string) SessionID {
		b.do(Command{Kind: CmdSessionCreate, Node: 1, Timeout: 10_000, Data: []byte(description),
			Client: ClientRef{Address: []byte(description), Name: []byte(description), Version: []byte(description)}})
		return b.result().Session
	}
	id := session("the first session")
	var effects []Effect
	do := func(c Command) {
		b.do(c)
		effects = append(effects, b.out.List...)
	}
	do(Command{Kind: CmdSemaphoreCreate, Node: 1, Name: name, Count: 1, Data: data})
	b.as(0, Command{Kind: CmdAcquire, Name: name, Count: 1, Data: held})
	effects = append(effects, b.out.List...)
	read := func() (a answers) {
		b.m.Describe(refOf(1, name), DescribeOptions{Owners: true}, &a.Description)
		b.m.Changes(refOf(1, name), 1, &a.Delta)
		a.Listed, a.Last, _ = b.m.ListSemaphores(1, "", "", 0, nil)
		a.Objects, _, _ = b.m.ListObjects(1, "", "", 0, nil)
		a.Holdings, _ = b.m.ListHoldings(b.ids[0], 0, 0, nil)
		_, a.Slot = b.m.ListSlot(SlotOf(1, name))
		b.m.WalkQueues(0, func(q Queue) { a.Queues = append(a.Queues, q) })
		a.Sessions, _, _ = b.m.ListSessions(1, 0, 0, nil)
		a.Described, _ = b.m.DescribeSession(id)
		a.State = b.m.State()
		a.Effects = effects
		return a
	}
	first = read()
	want := fmt.Sprintf("%+v", first)
	if !strings.Contains(want, string(data)) || strings.Count(want, string(name)) < 8 ||
		strings.Count(want, string(held)) != 4 || strings.Count(want, "the first session") != 3*4 {
		t.Fatalf("what was read does not have the texts: %s", want)
	}
	b.do(Command{Kind: CmdSemaphoreDelete, Node: 1, Name: name, Flags: FlagForce})
	b.do(Command{Kind: CmdSessionEnd, Session: id})
	for i := range 100 {
		other := fmt.Appendf(nil, "and then %03d", i)
		b.do(Command{Kind: CmdSemaphoreCreate, Node: 1, Name: other, Count: 1, Data: append([]byte("x "), other...)})
		b.as(0, Command{Kind: CmdAcquire, Name: other, Count: 1, Data: fmt.Appendf(nil, "what others %03d", i)})
		session(fmt.Sprintf("another than %04d", i))
		if i%2 == 0 {
			b.do(Command{Kind: CmdSemaphoreDelete, Node: 1, Name: other})
		}
	}
	if got := fmt.Sprintf("%+v", first); got != want {
		t.Errorf("what was read has become\n%s\nand was\n%s", got, want)
	}
}

// TestTheThingsThatAreManyHaveNoPointers: a collection of garbage passes over memory without pointers.
func TestTheThingsThatAreManyHaveNoPointers(t *testing.T) {
	for _, of := range []reflect.Type{
		reflect.TypeFor[object](), reflect.TypeFor[semaphore](), reflect.TypeFor[treeNode](),
		reflect.TypeFor[session](), reflect.TypeFor[link](),
	} {
		if hasPointers(of) {
			t.Errorf("a %s has pointers", of)
		}
	}
}

func hasPointers(of reflect.Type) bool {
	switch of.Kind() {
	case reflect.Struct:
		for i := range of.NumField() {
			if hasPointers(of.Field(i).Type) {
				return true
			}
		}
		return false
	case reflect.Array:
		return hasPointers(of.Elem())
	default:
		return of.Kind() > reflect.Complex128
	}
}

// BenchmarkCollection is one collection of garbage: of a machine with nothing, and with a million things of one sort.
func BenchmarkCollection(b *testing.B) {
	const sessions = 1000
	var name []byte
	for _, c := range []struct {
		of   string
		grow func(bed *bed, i int)
	}{
		{"nothing", nil},
		{"semaphores", func(bed *bed, i int) {
			name = fmt.Appendf(name[:0], "semaphore/%07d", i)
			bed.do(Command{Kind: CmdSemaphoreCreate, Node: 1, Name: name, Count: 1, Data: name})
		}},
		{"sessions", func(bed *bed, i int) {
			name = fmt.Appendf(name[:0], "10.0.0.1:%d", i)
			bed.do(Command{Kind: CmdSessionCreate, Slot: Slot(i % Slots), Node: 1, Timeout: 10_000, Data: name,
				Client: ClientRef{Address: name, Name: []byte("signalbox"), Version: []byte("1.4.0")}})
			if bed.result().Status != protocol.StatusSuccess {
				b.Fatal(bed.result())
			}
		}},
		{"owners", func(bed *bed, i int) {
			name = fmt.Appendf(name[:0], "10.0.0.1:%d", i)
			bed.applyAs(i%sessions, &Command{Kind: CmdAcquire, Name: fmt.Appendf(nil, "service/%d", i/sessions),
				Count: 1, Flags: FlagEphemeral, Data: name})
			if bed.result().Flags&FlagAcquired == 0 {
				b.Fatal(bed.result())
			}
		}},
	} {
		b.Run(c.of, func(b *testing.B) {
			bed := newestBed(sessions)
			for i := range million - sessions {
				if c.grow != nil {
					c.grow(bed, i)
				}
			}
			runtime.GC()
			for b.Loop() {
				runtime.GC()
			}
			runtime.KeepAlive(bed)
		})
	}
}
