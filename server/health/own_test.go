package health

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	kind "github.com/signalbox/signalbox/protocol/health"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
)

// TestWhatAHostSaysOfItself: each issue appears and disappears with its cause.
func TestWhatAHostSaysOfItself(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	well := Own{Name: "a", Free: 50 << 30, Total: 100 << 30, Low: 1 << 30, Files: 20_000, CommitP99: time.Millisecond,
		Requests: 1000, Certificates: []Certificate{{"clients", now.Add(90 * 24 * time.Hour)}},
		Behind: []Behind{{1, 10}}}
	for want, ill := range map[kind.Kind]func(o *Own){
		kind.HostNotReady:        func(o *Own) { o.NotReady = errors.New("why") },
		kind.DiskFull:            func(o *Own) { o.Refusal = errors.New("full") },
		kind.DiskLow:             func(o *Own) { o.Free = 3 << 29 },
		kind.MemoryFull:          func(o *Own) { o.Refusal = fmt.Errorf("%w", shard.ErrMemoryFull) },
		kind.MemoryLow:           func(o *Own) { o.Live, o.High = 90<<20, 100<<20 },
		kind.DiskSlow:            func(o *Own) { o.CommitP99 = time.Second },
		kind.DataInMemory:        func(o *Own) { o.InMemory = true },
		kind.HostStalled:         func(o *Own) { o.Stalls++ },
		kind.ConnectionsRejected: func(o *Own) { o.Refused++ },
		kind.SlowWatchers:        func(o *Own) { o.Slow = 2 },
		kind.FileDescriptorsLow:  func(o *Own) { o.Open = 19_000 },
		kind.CertificateExpiring: func(o *Own) { o.Certificates[0].End = now.Add(24 * time.Hour) },
		kind.CertificateExpired:  func(o *Own) { o.Certificates[0].End = now },
		kind.HostLagging:         func(o *Own) { o.Behind[0].Entries = 20_000 },
	} {
		o, at := well, now
		var kinds []kind.Kind
		b := New(func(l *List) { l.AddOwn(&o) })
		look := func() string {
			at = at.Add(every)
			kinds = nil
			for _, c := range b.Read(at) {
				if c.Host != "a" || c.Since.IsZero() || c.Text == "" {
					t.Errorf("%s: %+v", want, c)
				}
				kinds = append(kinds, c.Kind)
			}
			return fmt.Sprint(kinds)
		}
		if got := look(); got != "[]" {
			t.Errorf("%s before: %s", want, got)
		}
		o.Certificates = append([]Certificate(nil), well.Certificates...)
		o.Behind = append([]Behind(nil), well.Behind...)
		ill(&o)
		if p := patience[want]; p > 0 {
			if got := look(); got != "[]" {
				t.Errorf("%s at once: %s", want, got)
			}
			at = at.Add(p)
		}
		if got := look(); got != fmt.Sprintf("[%s]", want) {
			t.Errorf("%s: %s", want, got)
		}
		counted := o
		o = well
		o.Stalls, o.Refused = counted.Stalls, counted.Refused
		at = at.Add(lasting)
		if got := look(); got != "[]" {
			t.Errorf("%s after: %s", want, got)
		}
	}
}

// TestAShardThatGrantsNothingYetIsAHealthIssue: as long as it grants nothing.
func TestAShardThatGrantsNothingYetIsAHealthIssue(t *testing.T) {
	at, now := time.UnixMilli(1_700_000_000_000), uint64(1000)
	b := New(func(l *List) {
		l.addWait(3, func() (string, time.Duration) {
			return "session 7-1", time.Duration(91_000-int64(now)) * time.Millisecond
		})
	})
	for _, want := range []string{"[shard 3: 1m30s]", "[shard 3: 30s]", "[]"} {
		at = at.Add(every)
		var said []string
		for _, c := range b.Read(at) {
			_, after, _ := strings.Cut(c.Text, "grants nothing for at least ")
			after = strings.TrimSuffix(after, " more, due to session 7-1")
			said = append(said, "shard "+strings.Join(c.Shards, " ")+": "+after)
		}
		if got := fmt.Sprint(said); got != want {
			t.Errorf("after %d ms: %s, want %s", now, got, want)
		}
		now += 60_000
	}
}

// TestWhyAHostIsNotReadyIsSaidOnce: without the reporting package's name.
func TestWhyAHostIsNotReadyIsSaidOnce(t *testing.T) {
	o := Own{Name: "a", NotReady: fmt.Errorf("server: shard 1 has no leader: %w", replica.ErrNotReady)}
	now := time.UnixMilli(1_700_000_000_000)
	b := New(func(l *List) { l.AddOwn(&o) })
	b.Read(now)
	if list := b.Read(now.Add(time.Minute)); len(list) != 1 || list[0].Text != "shard 1 has no leader" {
		t.Errorf("%+v", list)
	}
}

// TestAListIsMadeOnceASecondAndSinceStays.
func TestAListIsMadeOnceASecondAndSinceStays(t *testing.T) {
	now, made := time.UnixMilli(1_700_000_000_000), 0
	var since time.Time
	b := New(func(l *List) {
		made++
		c := kind.New(kind.HostUnreachable, kind.About{Host: "b"}, fmt.Sprint(made))
		c.Since = since
		l.Add(c)
		l.Add(c)
	})
	first := b.Read(now)
	if len(first) != 1 || !first[0].Since.Equal(now) {
		t.Fatalf("%+v", first)
	}
	if again := b.Read(now.Add(every / 2)); made != 1 || again[0].Text != "1" {
		t.Errorf("made %d times: %+v", made, again)
	}
	since = now.Add(time.Second)
	if later := b.Read(now.Add(3 * time.Second)); !later[0].Since.Equal(now) || later[0].Text != "2" {
		t.Errorf("an estimate that differs by a second: %+v", later)
	}
	since = now.Add(-time.Hour)
	if later := b.Read(now.Add(6 * time.Second)); !later[0].Since.Equal(since) {
		t.Errorf("it was so an hour before: %+v", later)
	}
}

// TestAListIsBounded: per kind, in total, and in text length; omitted issues are counted.
func TestAListIsBounded(t *testing.T) {
	b := New(func(l *List) {
		for i := range 3 * kind.MaxOfKind {
			about := kind.About{Node: "/n", Name: fmt.Sprintf("%03d", i)}
			l.Add(kind.New(kind.LongWait, about, strings.Repeat("ä", 1000)))
		}
		for _, row := range kind.Kinds {
			for i := range kind.MaxOfKind + 1 {
				l.Add(kind.New(row.Kind, kind.About{Name: fmt.Sprint(i)}, "text"))
			}
		}
	})
	counts, all, more := make(map[kind.Kind]int), make(map[kind.Kind]int), 0
	list := b.Read(time.Now())
	for _, c := range list {
		counts[c.Kind]++
		all[c.Kind] += 1 + c.More
		more += c.More
		if len(c.Text) > kind.MaxText {
			t.Errorf("%s has %d bytes", c.Kind, len(c.Text))
		}
	}
	for k, n := range all {
		if want := kind.MaxOfKind + 1; n != want && k != kind.LongWait {
			t.Errorf("%s has %d, with what is left out, want %d", k, n, want)
		}
	}
	for k, n := range counts {
		if n > kind.MaxOfKind {
			t.Errorf("%d of %s", n, k)
		}
	}
	if len(list) != kind.MaxIssues || list[0].Severity != kind.Critical || more == 0 {
		t.Errorf("%d, %d more: %+v", len(list), more, list[0])
	}
}
