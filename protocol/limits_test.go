package protocol

import (
	"bytes"
	"testing"
)

func TestCommonVersion(t *testing.T) {
	for _, c := range []struct {
		min, max uint64
		version  uint64
		ok       bool
	}{
		{1, 1, 1, true}, {1, 9, 1, true}, {0, 1, 1, true}, {2, 9, 0, false}, {0, 0, 0, false}, {2, 1, 0, false},
	} {
		m := Hello{VersionMin: c.min, VersionMax: c.max}
		if version, ok := m.CommonVersion(); ok != c.ok || ok && version != c.version {
			t.Errorf("with a client of %d to %d: got %d, %t; want %d, %t", c.min, c.max, version, ok, c.version, c.ok)
		}
	}
}

// TestTheLargestMessagesFitTheirFrames: the limits on frames must leave room for everything that the limits on fields
// allow.
func TestTheLargestMessagesFitTheirFrames(t *testing.T) {
	for _, dataBytes := range []uint64{0, DefaultDataBytes, MaxDataBytes} {
		limits := FrameLimits(dataBytes)
		data := bytes.Repeat([]byte{0xff}, int(dataBytes))
		name := bytes.Repeat([]byte("n"), MaxNameBytes)
		acquire := request(1<<64-1, &Acquire{
			Mutation: Mutation{SessionID: 1<<64 - 1, Number: 1<<64 - 1, Acknowledged: 1<<64 - 2},
			NodeID:   1<<64 - 1, Name: name, Count: Exclusive, TimeoutMillis: Forever, Data: data, Ephemeral: true,
		})
		hello := request(1<<64-1, &Hello{
			VersionMin: 1<<64 - 1, VersionMax: 1<<64 - 1, ClientName: name[:MaxClientNameBytes],
			ClientVersion: name[:MaxVersionBytes], Token: make([]byte, MaxTokenBytes),
		})
		for _, s := range []sample{acquire, hello} {
			if n := len(s.payload()); uint64(n) > limits.RequestFrameBytes {
				t.Errorf("data of %d: %s of %d bytes, %d fit", dataBytes, s.kind, n, limits.RequestFrameBytes)
			}
		}
		semaphore := Semaphore{
			Name: name, Limit: Exclusive, Count: Exclusive, Revision: 1<<64 - 1, Owners: 1<<64 - 1,
			Waiters: 1<<64 - 1, Ephemeral: true, Data: data,
		}
		describe := &SemaphoreDescribeAnswer{Semaphore: semaphore, Next: 1<<64 - 1, WatchAdded: true}
		waiter := Waiter{OrderID: 1<<64 - 1, SessionID: 1<<64 - 1, Count: Exclusive, TimeoutMillis: Forever}
		for describe.Waiters.Size() < PageBytes-50 {
			describe.Waiters.Append(waiter)
		}
		waiter.Data = data
		describe.Waiters.Append(waiter)
		list := &SemaphoreListAnswer{Next: name}
		small := Semaphore{Limit: 1}
		for list.Semaphores.Size() < PageBytes-1 {
			list.Semaphores.Append(small)
		}
		list.Semaphores.Append(semaphore)
		for _, s := range []sample{answer(1<<64-1, describe), answer(1<<64-1, list)} {
			if n := len(s.payload()); uint64(n) > limits.AnswerFrameBytes {
				t.Errorf("data of %d: %s of %d bytes, %d fit", dataBytes, s.kind, n, limits.AnswerFrameBytes)
			}
		}
	}
}
