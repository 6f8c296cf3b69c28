package protocol

import (
	"slices"
	"testing"

	"github.com/valyala/bytebufferpool"
)

func TestListGivesBackWhatWasAppended(t *testing.T) {
	owners := []Owner{
		{OrderID: 1, SessionID: 2, Count: 3, Data: []byte("a")},
		{},
		{OrderID: 300, SessionID: exampleSession, Count: Exclusive},
	}
	var l Owners
	for i := range owners {
		l.Append(owners[i])
	}
	if l.Len() != 3 || l.Size() == 0 {
		t.Fatalf("length %d, size %d", l.Len(), l.Size())
	}
	for range 2 {
		got := slices.Collect(l.All())
		if !slices.EqualFunc(got, owners, sameOwner) {
			t.Errorf("got %v, want %v", got, owners)
		}
	}
	for o := range l.All() {
		if o.OrderID != 1 {
			t.Errorf("first is %v", o)
		}
		break
	}
	l.Reset()
	if l.Len() != 0 || l.Size() != 0 || len(slices.Collect(l.All())) != 0 {
		t.Errorf("after a reset: length %d, size %d", l.Len(), l.Size())
	}
}

func TestSizeOfAListIsWhatItTakesInAFrame(t *testing.T) {
	empty := push(1, &WatchSnapshot{Revision: 1, Owners: list[Owner](&Owner{})})
	more := push(1, &WatchSnapshot{Revision: 1, Owners: exampleOwners()})
	emptyOwners, moreOwners := list[Owner](&Owner{}), exampleOwners()
	got := len(more.frame()) - len(empty.frame())
	if want := moreOwners.Size() - emptyOwners.Size(); got != want {
		t.Errorf("the frame grew by %d bytes, the list by %d", got, want)
	}
}

// TestChangingAListThatWasReadLeavesItsFrameAlone: a decoded list points into the frame. A change to the list must not
// change the frame, whose bytes may belong to the next frame by then.
func TestChangingAListThatWasReadLeavesItsFrameAlone(t *testing.T) {
	payload := push(1, &WatchSnapshot{Revision: 1, Owners: exampleOwners()}).payload()
	before := slices.Clone(payload)
	for _, change := range []func(*Owners){
		func(l *Owners) { l.Append(Owner{OrderID: 9}) },
		func(l *Owners) { l.Reset(); l.Append(Owner{OrderID: 9}) },
	} {
		a, err := NewAnswerDecoder().Decode(payload)
		if err != nil {
			t.Fatal(err)
		}
		l := a.WatchSnapshot.Owners
		change(&l)
		if got := slices.Collect(l.All()); got[len(got)-1].OrderID != 9 {
			t.Errorf("got %v", got)
		}
		if !slices.Equal(payload, before) {
			t.Errorf("the frame changed: %x, was %x", payload, before)
		}
	}
}

// TestSharedPushIsThePushOfEach: a shared push must be byte for byte the push encoded for each client.
func TestSharedPushIsThePushOfEach(t *testing.T) {
	for _, e := range examples {
		m, ok := e.sample.message.(PushMessage)
		if !ok {
			continue
		}
		encoder := NewEncoder()
		shared := encoder.SharedPush(m)
		for _, id := range []uint64{0, 1, 127, 128, 1 << 16, 1<<64 - 1} {
			var got, want bytebufferpool.ByteBuffer
			_, _ = got.WriteString("before")
			_, _ = want.WriteString("before")
			shared.Push(encoder, &got, id)
			encoder.Push(&want, id, m)
			if !slices.Equal(got.B, want.B) {
				t.Errorf("%s for %d:\n got %x\nwant %x", e.name, id, got.B, want.B)
			}
			if n := got.Len() - len("before"); n > shared.Size() {
				t.Errorf("%s for %d takes %d bytes, %d were told", e.name, id, n, shared.Size())
			}
		}
	}
}

func sameOwner(a, b Owner) bool {
	return a.OrderID == b.OrderID && a.SessionID == b.SessionID && a.Count == b.Count && slices.Equal(a.Data, b.Data)
}

func TestViewIsTheString(t *testing.T) {
	for _, s := range []string{"", "a", "étage/3"} {
		if got := string(View(s)); got != s {
			t.Errorf("got %q, want %q", got, s)
		}
	}
}
