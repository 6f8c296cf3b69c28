package client

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// TestDescriptionsAndListsSaySinceWhenAndWhose: the hosts' times and client names reach the caller; missing ones are
// the zero time and empty.
func TestDescriptionsAndListsSaySinceWhenAndWhose(t *testing.T) {
	since := time.UnixMilli(1_772_366_400_123)
	said := protocol.ClientInfo{Address: []byte("10.20.30.40:51234"), Name: []byte("billing"), Version: []byte("1.4.0")}
	want := ClientInfo{Address: "10.20.30.40:51234", Name: "billing", Version: "1.4.0"}
	var a protocol.SemaphoreDescribeAnswer
	a.Owners.Append(protocol.Owner{OrderID: 1, SinceMillis: uint64(since.UnixMilli()), Client: said})
	a.Owners.Append(protocol.Owner{OrderID: 2})
	a.Waiters.Append(protocol.Waiter{OrderID: 3, SinceMillis: uint64(since.UnixMilli()), Client: said})
	a.Waiters.Append(protocol.Waiter{OrderID: 4})
	var d SemaphoreDetails
	d.add(&protocol.SemaphoreDescribe{}, &a)
	s := sessionInfo(&protocol.Session{SinceMillis: uint64(since.UnixMilli()), Client: said})
	old := sessionInfo(&protocol.Session{})
	for _, c := range []struct {
		what   string
		since  time.Time
		client ClientInfo
		known  bool
	}{
		{"owner", d.Owners[0].Since, d.Owners[0].Client, true},
		{"waiter", d.Waiters[0].Since, d.Waiters[0].Client, true},
		{"session", s.Since, s.Client, true},
		{"owner of before", d.Owners[1].Since, d.Owners[1].Client, false},
		{"waiter of before", d.Waiters[1].Since, d.Waiters[1].Client, false},
		{"session of before", old.Since, old.Client, false},
	} {
		switch {
		case c.known && (!c.since.Equal(since) || c.client != want):
			t.Errorf("%s: since %v, of %+v", c.what, c.since, c.client)
		case !c.known && (!c.since.IsZero() || c.client != ClientInfo{}):
			t.Errorf("%s: since %v, of %+v, and neither is known", c.what, c.since, c.client)
		}
	}
}
