package machine

import (
	"encoding/hex"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// answersOf is a session with the answers, and a machine to keep their bodies.
func answersOf(list []answer, bodies map[uint64]string) (*Machine, *session) {
	m := New(TestKinds, Options{})
	s := m.core.Sessions.At(m.core.Sessions.add(shard.NewSessionID(1, 1), m.core.Nodes.add(1)))
	for _, a := range list {
		m.core.Sessions.setAnswers(s, append(m.core.Sessions.answersOf(s), a))
		if bodies[a.number] != "" {
			m.core.Answers.keepBody(s, a.number, bodies[a.number])
		}
	}
	return m, s
}

// TestAnswersComeBackAsTheyWereKept: with any fields, including flags of both bytes.
func TestAnswersComeBackAsTheyWereKept(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	maybe := func(v uint64) uint64 {
		if rng.IntN(2) == 0 {
			return 0
		}
		return max(v, 1)
	}
	for range 500 {
		var list []answer
		bodies := make(map[uint64]string)
		want := make(map[uint64]string)
		number := uint64(5)
		for range rng.IntN(20) {
			number += 1 + rng.Uint64N(300)
			list = append(list, answer{
				number: number, status: protocol.Status(maybe(7)),
				flags: shard.EffectFlags(maybe(rng.Uint64N(1 << 16))),
				abort: protocol.AbortReason(maybe(3)), order: shard.OrderID(maybe(rng.Uint64())),
				revision: shard.Revision(maybe(rng.Uint64())), quota: shard.Quota(maybe(2)), asked: maybe(rng.Uint64()),
				slot: slotNumber(maybe(1 + rng.Uint64N(shard.Slots))),
			})
			if body := strings.Repeat("b", rng.IntN(400)); rng.IntN(2) == 0 && body != "" {
				bodies[number], want[number] = body, body
			}
		}
		m, s := answersOf(list, bodies)
		r := codec.Input{Data: m.core.Answers.append(nil, s)}
		got, kept := readAnswers(&r, number, 5)
		if !r.Sound() || len(r.Data) > 0 || !reflect.DeepEqual(got, list) {
			t.Fatalf("%s: have %+v\nwant %+v", r.Bad(), got, list)
		}
		for _, b := range kept {
			if want[b.number] != b.body {
				t.Fatalf("the body of %d is %q, was %q", b.number, b.body, want[b.number])
			}
			delete(want, b.number)
		}
		if len(want) > 0 {
			t.Fatalf("bodies were lost: %v", want)
		}
	}
}

// TestCachedResponsesKeepTheirForm: snapshots and digests have these bytes.
func TestCachedResponsesKeepTheirForm(t *testing.T) {
	list := []answer{
		{number: 3, flags: shard.FlagAcquired, order: 300},
		{number: 4, status: protocol.StatusQuotaExceeded, quota: shard.QuotaNodeBytes},
	}
	m, s := answersOf(list, nil)
	want := "02" + "05" + "0a" + "03" + "01" + "ac02" + "04" + "21" + "04" + "12" + "02"
	if got := hex.EncodeToString(m.core.Answers.append(nil, s)); got != want {
		t.Errorf("%s, was %s", got, want)
	}
	data, _ := hex.DecodeString(want)
	r := codec.Input{Data: data}
	if got, _ := readAnswers(&r, 4, 0); !r.Sound() || !reflect.DeepEqual(got, list) {
		t.Errorf("%s is read as %+v, %s", want, got, r.Bad())
	}
	m, s = answersOf([]answer{{number: 9, flags: shard.FlagData | shard.FlagLimit, revision: 2}},
		map[uint64]string{9: "xyz"})
	if got, want := hex.EncodeToString(m.core.Answers.append(nil, s)),
		"01"+"09"+"52"+"09"+"8802"+"02"+"0378797a"; got != want {
		t.Errorf("with a body: %s, was %s", got, want)
	}
	m, s = answersOf([]answer{{number: 9, asked: 0x0102030405060708}}, nil)
	if got, want := hex.EncodeToString(m.core.Answers.append(nil, s)),
		"01"+"0b"+"8001"+"09"+"0807060504030201"; got != want {
		t.Errorf("with what was asked: %s, was %s", got, want)
	}
	m, s = answersOf([]answer{{number: 9, slot: shard.Slots}}, nil)
	if got, want := hex.EncodeToString(m.core.Answers.append(nil, s)),
		"01"+"05"+"8002"+"09"+"8020"; got != want {
		t.Errorf("with a slot: %s, was %s", got, want)
	}
}

// TestKeptAnswersThatAreNotSoundAreRefused: an answer has one form.
func TestKeptAnswersThatAreNotSoundAreRefused(t *testing.T) {
	for what, text := range map[string]string{
		"a field of a later level":    "01" + "05" + "8004" + "09" + "01",
		"a status of 0":               "01" + "03" + "01" + "09" + "00",
		"flags of 0":                  "01" + "03" + "02" + "09" + "00",
		"flags of three bytes":        "01" + "06" + "02" + "09" + "81808001",
		"an abort of 0":               "01" + "03" + "04" + "09" + "00",
		"an order id of 0":            "01" + "03" + "08" + "09" + "00",
		"a revision of 0":             "01" + "03" + "10" + "09" + "00",
		"a quota of 0":                "01" + "03" + "20" + "09" + "00",
		"a body without bytes":        "01" + "03" + "40" + "09" + "00",
		"bytes behind the last field": "01" + "03" + "00" + "09" + "00",
		"an answer that is cut":       "01" + "02" + "08" + "09",
		"a record that is cut":        "01" + "09" + "00" + "09",
		"a number above the highest":  "01" + "02" + "00" + "0a",
		"a number that was seen":      "01" + "02" + "00" + "02",
		"more than it has bytes":      "7f" + "02" + "00" + "09",
	} {
		data, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		r := codec.Input{Data: data}
		if readAnswers(&r, 9, 2); r.Sound() {
			t.Errorf("%s was taken", what)
		}
	}
	for what, text := range map[string]string{
		"a slot of 0":           "01" + "04" + "8002" + "09" + "00",
		"a slot above the last": "01" + "05" + "8002" + "09" + "8120",
	} {
		data, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		r := codec.Input{Data: data}
		if readAnswers(&r, 9, 2); r.Bad() != noField {
			t.Errorf("%s: %s", what, r.Bad())
		}
	}
	sound, _ := hex.DecodeString("01" + "02" + "00" + "09")
	r := codec.Input{Data: sound}
	if readAnswers(&r, 9, 2); !r.Sound() {
		t.Error(r.Bad())
	}
}

// TestBodiesGoWithTheirAnswers: changing or forgetting an answer releases its body, and the counted bytes.
func TestBodiesGoWithTheirAnswers(t *testing.T) {
	b := newestBed(2)
	lock := []byte("lock")
	b.Do(shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: lock, Count: 1})
	usage := b.M.Usage(1).Bytes
	unseen := func(i int, c shard.Command) {
		b.Numbers[i]++
		c.Node, c.Session, c.Number, c.Name = 1, b.IDs[i], b.Numbers[i], lock
		b.Do(c)
	}
	keep := func(i int) { // no command of this build acquires and answers with a body
		b.M.core.Answers.keepBody(b.M.core.Sessions.At(b.M.core.Sessions.Find(b.IDs[i])), b.Numbers[i], "taken")
	}
	unseen(0, shard.Command{Kind: shard.CmdAcquire, Count: 1})
	keep(0)
	unseen(1, shard.Command{Kind: shard.CmdAcquire, Count: 1, Timeout: shard.Forever})
	keep(1)
	unseen(0, shard.Command{Kind: shard.CmdRelease}) // ends the first session's ownership, and grants to the second
	if got, want := b.M.Usage(1).Bytes, usage+3*shard.AnswerBytes+shard.LinkBytes; got != want {
		t.Errorf("%d bytes count, not %d: a body outlived its answer", got, want)
	}
	b.M.Digest() // it counts anew
	for range 3 * idleAnswers {
		unseen(0, shard.Command{Kind: cmdExchange, Body: []byte{byte(b.Numbers[0])}})
	}
	s := b.M.core.Sessions.At(b.M.core.Sessions.Find(b.IDs[0]))
	if s.bodies == 0 || b.M.core.Answers.bodies.Size() != 2 {
		t.Fatalf("bodies of %d sessions are kept", b.M.core.Answers.bodies.Size())
	}
	b.As(0, shard.Command{Kind: shard.CmdRelease, Name: lock})
	if s.bodies != 0 || b.M.core.Answers.bodies.Size() != 1 {
		t.Errorf("the memory of a burst stays with a session that has seen everything")
	}
	for _, id := range b.IDs {
		b.Do(shard.Command{Kind: shard.CmdSessionEnd, Session: id})
	}
	if n := b.M.core.Answers.bodies.Size(); n != 0 {
		t.Errorf("%d sessions left bodies behind", n)
	}
}

// TestKeepingABodyAllocatesTheBodyAlone: in a steady state.
func TestKeepingABodyAllocatesTheBodyAlone(t *testing.T) {
	b := newestBed(1)
	lock := []byte("lock")
	b.Do(shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: lock, Count: 1})
	bodies := [2][]byte{[]byte("one, which is not short"), []byte("two, which is not short")}
	i := 0
	exchange := func() {
		b.As(0, shard.Command{Kind: cmdExchange, Name: lock, Body: bodies[i%2]})
		i++
	}
	for range 10 {
		exchange()
	}
	if n := testing.AllocsPerRun(100, exchange); n > 1 { // semaphore data, included in the next answer
		t.Errorf("%v allocations", n)
	}
}
