package protocol

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/protocol/session"
)

// records are the standalone records: heads and rows in views, and session details. Each has an example.
var records = []recordCase{
	recordOf("RolloutOverview", exampleHead), recordOf("RolloutLocation", exampleLocation),
	recordOf("RolloutVersion", exampleVersion), recordOf("RolloutTarget", exampleTarget),
	recordOf("InstanceCounts", exampleCounts), recordOf("RolloutInstance", exampleInstance),
	recordOf("TargetRow", exampleTargetRow), recordOf("RolloutActionRow", exampleActRow),
	recordOf("SourceTicket", exampleTicket),
	recordOf("ProcessOverview", exampleProcessOverview), recordOf("ProcessMember", exampleMember),
	recordOf("SessionDetails", func() session.Details { return session.Details{Description: "worker 7"} }),
	recordOf("ProcessResult", exampleResult), recordOf("ProcessActionRow", exampleProcessAct),
}

type recordCase struct {
	name    string
	empty   func() field.Value
	example func() field.Value
}

func recordOf[T any, P interface {
	*T
	field.Value
}](name string, example func() T) recordCase {
	return recordCase{name: name, empty: func() field.Value { return P(new(T)) }, example: func() field.Value {
		r := example()
		return P(&r)
	}}
}

// read reads a record with the case's type.
func (c recordCase) read(src []byte) (field.Value, *DecodeError) {
	r := c.empty()
	err := ReadRecord(src, r, 0)
	var bad *DecodeError
	if err != nil && !errors.As(err, &bad) {
		panic(err)
	}
	return r, bad
}

// recordSchema learns a record's fields, like schema for messages.
func recordSchema(t *testing.T, c recordCase) []wireField {
	t.Helper()
	return learnFields(t, "", func(values [][]byte) *DecodeError {
		_, err := c.read(arrayOf(values...))
		return err
	})
}

// TestTheLongestSessionDetailsFit: a shard can store all details that hosts accept from a client.
func TestTheLongestSessionDetailsFit(t *testing.T) {
	size := 1 // of the array
	for _, f := range recordSchema(t, recordOf("", func() (d session.Details) { return d })) {
		longest, err := strconv.Atoi(f.Limit)
		if err != nil {
			t.Fatalf("the field %s has the limit %q", f.Name, f.Limit)
		}
		size += 5 + longest
	}
	if size > session.MaxSize {
		t.Errorf("session.MaxSize is %d, the longest details may take %d bytes", session.MaxSize, size)
	}
}

func TestRecordsSurviveTheWire(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, c := range records {
		t.Run(c.name, func(t *testing.T) {
			fields := recordSchema(t, c)
			if len(fields) > maxFields {
				t.Fatalf("%d fields, at most %d can be written", len(fields), maxFields)
			}
			for range 200 {
				want := c.empty()
				randomStruct(t, r, want, fields)
				b := AppendRecord([]byte("before"), want)
				got, err := c.read(b[len("before"):])
				if err != nil {
					t.Fatal(err)
				}
				same(t, "read", renderStruct(t, got, fields), renderStruct(t, want, fields))
				if again := AppendRecord([]byte("before"), got); !bytes.Equal(again, b) {
					t.Fatalf("written again:\n got %x\nwant %x", again, b)
				}
			}
		})
	}
}

// TestExamplesOfRecordsShowEveryField: a zero field in the example would prove nothing.
func TestExamplesOfRecordsShowEveryField(t *testing.T) {
	for _, c := range records {
		fields := recordSchema(t, c)
		zero, shown := renderStruct(t, c.empty(), fields), renderStruct(t, c.example(), fields)
		for name := range zero {
			if reflect.DeepEqual(zero[name], shown[name]) {
				t.Errorf("%s: the example does not show %s", c.name, name)
			}
		}
	}
}

// TestRecordsOfOtherVersionsAreRead: an earlier version has fewer fields, a later version has more.
func TestRecordsOfOtherVersionsAreRead(t *testing.T) {
	for _, c := range records {
		fields := recordSchema(t, c)
		values := splitArray(t, AppendRecord(nil, c.example()))
		want := renderStruct(t, c.example(), fields)
		more, err := c.read(longArray(append(slices.Clone(values), []byte{0x92, 0xc0, 0x07})))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		same(t, c.name+" with a field more", renderStruct(t, more, fields), want)
		zero := renderStruct(t, c.empty(), fields)
		last := fields[len(values)-1].Name
		want[last] = zero[last]
		fewer, err := c.read(longArray(values[:len(values)-1]))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		same(t, c.name+" with a field less", renderStruct(t, fewer, fields), want)
	}
}

func TestWhatIsNoRecordIsRefused(t *testing.T) {
	ticket := AppendRecord(nil, &kind.Ticket{Number: 3})
	for name, b := range map[string][]byte{
		"nothing": nil, "a number": {7}, "cut": ticket[:1], "with bytes behind it": append(slices.Clone(ticket), 0),
		"a field of another type": {0x91, 0xa1, 'x'}, "with a length that is not there": {0xdd, 0xff, 0xff, 0xff, 0xff},
	} {
		var got kind.Ticket
		var bad *DecodeError
		if err := ReadRecord(b, &got, 0); !errors.As(err, &bad) || bad.Problem == "" {
			t.Errorf("%s is read as %v: %v", name, got, err)
		}
	}
	if err := ReadRecord([]byte{0x90}, &kind.Ticket{}, 0); err != nil {
		t.Errorf("a record without fields: %v", err)
	}
}

// TestReadingARecordTakesNoMemoryForIt: the texts and bytes in a record are views, however long.
func TestReadingARecordTakesNoMemoryForIt(t *testing.T) {
	src := AppendRecord(nil, &RolloutTarget{Generation: 1, Seq: 1, Payload: make([]byte, MaxRolloutPayloadBytes)})
	var target RolloutTarget
	if n := testing.AllocsPerRun(100, func() {
		if err := ReadRecord(src, &target, 0); err != nil {
			t.Fatal(err)
		}
	}); n > 1 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzReadRecord(f *testing.F) {
	for i, c := range records {
		f.Add(uint8(i), AppendRecord(nil, c.example()))
	}
	f.Fuzz(func(t *testing.T, which uint8, src []byte) {
		c := records[int(which)%len(records)]
		before := bytes.Clone(src)
		first, err := c.read(src)
		if !bytes.Equal(before, src) {
			t.Fatal("reading changed the bytes")
		}
		if err != nil {
			return
		}
		again := AppendRecord(nil, first)
		second, err := c.read(again)
		if err != nil {
			t.Fatalf("%x is written as %x, which cannot be read: %v", src, again, err)
		}
		if third := AppendRecord(nil, second); !bytes.Equal(third, again) {
			t.Fatalf("%x is written as %x", again, third)
		}
	})
}
