package protocol

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol/field"
)

// seen is a value whose fields all depend on the reader's time: directly, in a record, and in a list.
type seen struct {
	Since, Done field.Timestamp
	Left        time.Duration
	Inner       field.Timestamp
	Items       []seen
}

func (s *seen) Fields(c field.Coder) {
	c.Moment("since", &s.Since)
	c.Moment("done", &s.Done)
	c.Left("until", &s.Left)
	c.Record("inner", func(c field.Coder) { c.Moment("at", &s.Inner) })
	c.Wall("since_wall_ms", &s.Since)
	c.Wall("done_wall_ms", &s.Done)
	field.List(c, "items", &s.Items, 4, (*seen).Fields)
}

// made returns the value as a shard creates the value; seenAt returns the value as a reader sees it at a given shard
// time.
func made() seen {
	return seen{
		Since: field.At(1_000, 1_700_000_000_000), Left: 7 * time.Second, Inner: field.At(2_000, 0),
		Items: []seen{{Since: field.At(3_000, 0), Left: 4 * time.Second}},
	}
}

func seenAt(now uint64) seen {
	s := made()
	left := func(until uint64) time.Duration { return field.Duration(until - min(until, now)) }
	s.Since, s.Inner, s.Items[0].Since = s.Since.Seen(now), s.Inner.Seen(now), s.Items[0].Since.Seen(now)
	s.Left, s.Items[0].Left = left(7_000), left(4_000)
	return s
}

// TestARecordIsReadAsItLooksAtATimeOfTheShard: nested records and lists too. A timestamp in the future of a reader with
// an older clock reads as zero time ago.
func TestARecordIsReadAsItLooksAtATimeOfTheShard(t *testing.T) {
	record := AppendRecord(nil, &[]seen{made()}[0])
	for _, now := range []uint64{5_000, 0, 1_500, 9_000} {
		var got seen
		if err := ReadRecord(record, &got, now); err != nil {
			t.Fatal(err)
		}
		if want := seenAt(now); !reflect.DeepEqual(got, want) {
			t.Errorf("at %d:\n got %+v\nwant %+v", now, got, want)
		}
	}
	if got := seenAt(5_000); got.Since.Ago != 4*time.Second || got.Left != 2*time.Second || got.Done.Happened {
		t.Errorf("%+v", got)
	}
	// The pool gives the same codec to the next reader, who has no time.
	var plain seen
	if err := ReadRecord(record, &plain, 0); err != nil || plain.Since.Ago != 0 {
		t.Errorf("%v: %+v", err, plain)
	}
}

// TestAListOfViewsIsReadAsItLooksAtATimeOfTheShard: and can be read again at another time.
func TestAListOfViewsIsReadAsItLooksAtATimeOfTheShard(t *testing.T) {
	var list, read Views[seen, *seen]
	for range 2 {
		list.Append(made())
	}
	c := newCodec()
	c.startWriting(nil)
	viewsField(c, "list", &list)
	frame := c.written()
	c.startReading(frame)
	c.left = 1
	if viewsField(c, "list", &read); c.err != nil || read.Len() != 2 || read.Size() != list.Size() {
		t.Fatalf("%v: %d values of %d bytes", c.err, read.Len(), read.Size())
	}
	for _, now := range []uint64{5_000, 0} {
		for got := range read.All(now) {
			if want := seenAt(now); !reflect.DeepEqual(got, want) {
				t.Errorf("at %d:\n got %+v\nwant %+v", now, got, want)
			}
		}
	}
	for range read.All(0) {
		break
	}
	if again := AppendRecord(nil, &seen{}); !bytes.Equal(again, []byte{0x90}) {
		t.Errorf("a value without fields is written as %x", again)
	}
}
