package transport

import (
	"sync/atomic"
	"testing"
)

// TestFewConnectionsKeepTheRoomOfABusyOne has many connections send much at once, and then nothing.
func TestFewConnectionsKeepTheRoomOfABusyOne(t *testing.T) {
	f := &fixture{T: t, setup: setups[1]}
	t.Cleanup(f.shut)
	var arrived atomic.Int64
	f.serve(func(Conn) *script {
		return &script{data: func(b []byte) int {
			arrived.Add(int64(len(b)))
			return len(b)
		}}
	})
	const clients, each = keptBusyRooms + 100, readRoom + busyReadRoom
	for range clients {
		if _, err := f.connect().Write(make([]byte, each)); err != nil {
			t.Fatal(err)
		}
	}
	poll(f, "all to arrive", func() bool { return arrived.Load() == clients*each })
	poll(f, "rooms to be given back", func() bool { return busyRoomsHeld.Load() <= keptBusyRooms })
	f.shut()
	if n := busyRoomsHeld.Load(); n != 0 {
		t.Errorf("%d rooms are held of connections that are gone", n)
	}
}
