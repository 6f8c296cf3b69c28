package executor

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
)

// isSlow reports whether a host is slow on record.
func (f *fleet) isSlow(id shard.HostID) bool {
	h := f.records().Host(id)
	return h != nil && h.IsSlow()
}

// led returns how many shards a host leads, with the meta shard.
func (f *fleet) led(id shard.HostID) (n int) {
	for _, s := range f.shards {
		if f.leader(s) == f.host(id) {
			n++
		}
	}
	return n
}

// TestSlowGovernorHandsOver: the host that leads the meta shard becomes slow, and hands over all, the meta shard too;
// the next governor knows that it is slow, and records that it has recovered.
func TestSlowGovernorHandsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		fast := governor.Speed{Sync: 200, Delay: 300, Round: 400}
		slow := fast
		slow.Sync = 50_000
		for _, m := range f.all() {
			m.speed.Store(&fast)
		}
		f.until(90*time.Second, "a host governs", func() bool { return f.leader(hosts.Meta) != nil })
		time.Sleep(20 * time.Second)
		m := f.leader(hosts.Meta)
		m.speed.Store(&slow)
		began := time.Now()
		f.until(90*time.Second, "it leads nothing", func() bool { return f.isSlow(m.id) && f.led(m.id) == 0 })
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("it led for %v", took)
		}
		time.Sleep(5 * time.Minute)
		if !f.isSlow(m.id) || f.led(m.id) != 0 {
			t.Errorf("it is slow: %t, and leads %d shards", f.isSlow(m.id), f.led(m.id))
		}
		m.speed.Store(&fast)
		time.Sleep(50 * time.Second)
		if !f.isSlow(m.id) {
			t.Error("it has recovered in less than a minute")
		}
		f.until(90*time.Second, "it has recovered", func() bool { return !f.isSlow(m.id) })
	})
}
