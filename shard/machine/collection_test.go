package machine

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

func TestWhatReadersGotStays(t *testing.T) {
	b := newestBed(1)
	type answers struct {
		Description shard.Description
		Delta       shard.Delta
		Listed      []shard.SemaphoreView
		Objects     []shard.ObjectView
		Holdings    []shard.Holding
		Slot        []shard.ObjectName
		Queues      []any
		Sessions    []shard.SessionView
		Described   shard.SessionView
		State       shard.State
		Last        string
		Effects     []shard.Effect
	}
	var first answers
	name, data, held := []byte("of the first"), []byte("its first data"), []byte("what owners say")
	session := func(description string) shard.SessionID {
		b.Do(shard.Command{Kind: shard.CmdSessionCreate, Node: 1, Timeout: 10_000, Data: []byte(description),
			Client: shard.ClientRef{Address: []byte(description), Name: []byte(description),
				Version: []byte(description)}})
		return b.Result().Session
	}
	id := session("the first session")
	var effects []shard.Effect
	do := func(c shard.Command) {
		b.Do(c)
		effects = append(effects, b.Out.List...)
	}
	do(shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: name, Count: 1, Data: data})
	b.As(0, shard.Command{Kind: shard.CmdAcquire, Name: name, Count: 1, Data: held})
	effects = append(effects, b.Out.List...)
	read := func() (a answers) {
		b.M.Describe(refOf(1, name), shard.DescribeOptions{Owners: true}, &a.Description)
		b.M.Changes(refOf(1, name), 1, &a.Delta)
		a.Listed, a.Last, _ = SemaphoreReads.List(b.M, 1, "", "", 0, nil)
		a.Objects, _, _ = b.M.ListObjects(1, "", "", 0, nil)
		a.Holdings, _ = b.M.ListHoldings(b.IDs[0], 0, 0, nil)
		_, a.Slot = b.M.ListSlot(shard.SlotOf(1, name))
		a.Queues = SemaphoreReads.Queues(b.M)
		a.Sessions, _, _ = b.M.ListSessions(1, 0, 0, nil)
		a.Described, _ = b.M.DescribeSession(id)
		a.State = b.M.State()
		a.Effects = effects
		return a
	}
	first = read()
	want := fmt.Sprintf("%+v", first)
	if !strings.Contains(want, string(data)) || strings.Count(want, string(name)) < 8 ||
		strings.Count(want, string(held)) != 4 || strings.Count(want, "the first session") != 3*4 {
		t.Fatalf("what was read does not have the texts: %s", want)
	}
	b.Do(shard.Command{Kind: shard.CmdSemaphoreDelete, Node: 1, Name: name, Flags: shard.FlagForce})
	b.Do(shard.Command{Kind: shard.CmdSessionEnd, Session: id})
	for i := range 100 {
		other := fmt.Appendf(nil, "and then %03d", i)
		b.Do(shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: other, Count: 1,
			Data: append([]byte("x "), other...)})
		b.As(0, shard.Command{Kind: shard.CmdAcquire, Name: other, Count: 1,
			Data: fmt.Appendf(nil, "what others %03d", i)})
		session(fmt.Sprintf("another than %04d", i))
		if i%2 == 0 {
			b.Do(shard.Command{Kind: shard.CmdSemaphoreDelete, Node: 1, Name: other})
		}
	}
	if got := fmt.Sprintf("%+v", first); got != want {
		t.Errorf("what was read has become\n%s\nand was\n%s", got, want)
	}
}

// TestTheThingsThatAreManyHaveNoPointers: the garbage collector skips memory without pointers.
func TestTheThingsThatAreManyHaveNoPointers(t *testing.T) {
	for _, of := range []reflect.Type{
		reflect.TypeFor[Object](), reflect.TypeFor[session](), reflect.TypeFor[Holding](),
		reflect.ValueOf(TestKinds.rows[shard.KindSemaphore].New()).MethodByName("At").Type().Out(0).Elem(),
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

// BenchmarkCollection is one garbage collection, with an empty machine, and with a million items of one type.
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
			bed.Do(shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: name, Count: 1, Data: name})
		}},
		{"sessions", func(bed *bed, i int) {
			name = fmt.Appendf(name[:0], "10.0.0.1:%d", i)
			bed.Do(shard.Command{Kind: shard.CmdSessionCreate, Slot: shard.Slot(i % shard.Slots), Node: 1,
				Timeout: 10_000, Data: name, Client: shard.ClientRef{Address: name, Name: []byte("signalbox"),
					Version: []byte("1.4.0")}})
			if bed.Result().Status != protocol.StatusSuccess {
				b.Fatal(bed.Result())
			}
		}},
		{"owners", func(bed *bed, i int) {
			name = fmt.Appendf(name[:0], "10.0.0.1:%d", i)
			bed.ApplyAs(i%sessions, &shard.Command{Kind: shard.CmdAcquire,
				Name: fmt.Appendf(nil, "service/%d", i/sessions), Count: 1, Flags: shard.FlagEphemeral, Data: name})
			if bed.Result().Flags&shard.FlagAcquired == 0 {
				b.Fatal(bed.Result())
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
