package server

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// TestAHostSaysWhatItLeads: a host announces its leaderships, and records later-term leaders announced by other hosts.
func TestAHostSaysWhatItLeads(t *testing.T) {
	var begun atomic.Int64
	h := openChanged(t, 1, func(_ uint64, l shard.Log) shard.Log { return l },
		func(c *Config) { c.Leads = func() { begun.Add(1) } })
	defer h.Close()
	for late := time.Now().Add(time.Minute); begun.Load() == 0; time.Sleep(time.Millisecond) { // no event signals it
		if time.Now().After(late) {
			t.Fatal("the host does not notice that it leads")
		}
	}
	led := h.Led()
	if len(led) != 2 || led[0].Shard != 0 || led[1].Shard != 1 || led[0].Term == 0 || led[1].Term == 0 {
		t.Fatalf("the host leads %+v", led)
	}
	r := h.set.All()[0]
	for _, x := range []struct {
		what string
		from shard.HostID
		led  Led
		want shard.HostID
	}{
		{"of an earlier term", 2, Led{Shard: 1, Term: led[1].Term - 1}, 1},
		{"of the same term", 2, Led{Shard: 1, Term: led[1].Term}, 1},
		{"of another group", 2, Led{Shard: 1, Group: 1, Term: led[1].Term + 1}, 1},
		{"of no host", 0, Led{Shard: 1, Term: led[1].Term + 1}, 1},
		{"of the host itself", 1, Led{Shard: 1, Term: led[1].Term + 1}, 1},
		{"of another shard", 2, Led{Shard: 9, Term: led[1].Term + 1}, 1},
		{"of a later term", 3, Led{Shard: 1, Term: led[1].Term + 2}, 3},
		{"of a term between them", 2, Led{Shard: 1, Term: led[1].Term + 1}, 3},
	} {
		h.NoteLed(x.from, []Led{x.led})
		if got := r.Known(); got.Leader != x.want {
			t.Errorf("an announcement %s: host %d is known to lead, want %d", x.what, got.Leader, x.want)
		}
	}
	if r.Leader().Leader != 1 || !r.Leads() {
		t.Error("an announcement has changed what the replica itself knows")
	}
}
