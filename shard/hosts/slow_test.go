package hosts

import (
	"strings"
	"testing"
)

// TestSlowHostIsOnRecord: the record and the audit log say since when and why, and that the host has recovered.
func TestSlowHostIsOnRecord(t *testing.T) {
	f := newFixture(t, "a", "b", "c")
	long := "log syncs take 52 ms" + strings.Repeat(".", MaxText)
	f.done(f.SetSlow(f.at(), f.at().Term, 2, true, long))
	h := f.Host(2)
	if !h.IsSlow() || h.Slow.Times != 1 || len(h.Slow.Text) != MaxText || h.Slow.Since != f.now+1 {
		t.Errorf("%+v", h.Slow)
	}
	f.existed(f.SetSlow(f.at(), f.at().Term, 2, true, "again"))
	if f.Host(2) != h {
		t.Error("a repetition has changed the record")
	}
	again, err := Load(f.Save(nil))
	if err != nil || again.Host(2).Slow != h.Slow {
		t.Errorf("saved and loaded: %+v, %v", again.Host(2).Slow, err)
	}
	f.done(f.SetSlow(f.at(), f.at().Term, 2, false, ""))
	if h := f.Host(2); h.IsSlow() || h.Slow.Text != "" || h.Slow.Ended == 0 {
		t.Errorf("%+v", h.Slow)
	}
	entries := f.Audit(1, MaxAudit)
	if n := len(entries); !strings.HasPrefix(entries[n-2].Text, "slow: log syncs take 52 ms") ||
		entries[n-1].Text != "no longer slow" {
		t.Errorf("%v", entries[n-2:])
	}
}

func TestRecoveryTakesLongerWithEachRelapse(t *testing.T) {
	f := newFixture(t, "a", "b", "c")
	for n, want := range []uint64{1, 2, 4, 8, 16, 32, 64, 64, 64} {
		f.done(f.SetSlow(f.at(), f.at().Term, 2, true, ""))
		if got := f.Host(2).RecoverMillis(); got != want*60_000 {
			t.Errorf("relapse %d: %d ms", n, got)
		}
		f.done(f.SetSlow(f.at(), f.at().Term, 2, false, ""))
	}
}
