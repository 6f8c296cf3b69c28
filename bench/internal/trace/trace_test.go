package trace

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/internal/subprocess"
)

// TestOneCallerIsFollowed runs host and caller in this process.
func TestOneCallerIsFollowed(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a host with a disk")
	}
	ports, err := subprocess.ReservePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	defer ports.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "stamps")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	listens, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- Serve(ctx, filepath.Join(dir, "data"), ports.Addresses[0], file, func() { close(listens) })
	}()
	select {
	case <-listens:
	case err := <-ended:
		t.Fatal(err)
	}
	acquires, releases, err := Of(t.Context(), ports.Addresses[0], 5, 200, func() (string, error) {
		cancel()
		return file, <-ended
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []*Operation{acquires, releases} {
		if o.Spans != 200 || len(o.Whole) == 0 {
			t.Fatalf("%d of %d %ss were followed", len(o.Whole), o.Spans, o.Name)
		}
		for i, whole := range o.Whole {
			var sum time.Duration
			for p := Sending; p < Points; p++ {
				sum += o.Hops[p][i]
			}
			if sum != whole {
				t.Fatalf("the hops of %s %d add up to %v, and it took %v", o.Name, i, sum, whole)
			}
		}
	}
	var table strings.Builder
	if err := Write(&table, acquires, releases); err != nil {
		t.Fatal(err)
	}
	for p := Sending; p < Points; p++ {
		if strings.Count(table.String(), hops[p]) != 2 {
			t.Errorf("the hop %q is not in both tables:\n%s", hops[p], table.String())
		}
	}
}

// stampsFrom has every point once, a microsecond apart.
func stampsFrom(begin int64) (all []Stamp) {
	for p := Sending; p < Returned; p++ {
		all = append(all, Stamp{p, begin + int64(p)*1000})
	}
	return all
}

func TestOnlyAnOperationByItselfIsFollowed(t *testing.T) {
	span := Span{0, int64(Returned) * 1000}
	more := func(stamp Stamp) []Stamp { return append(stampsFrom(0), stamp) }
	swapped := stampsFrom(0)
	swapped[3].Point, swapped[4].Point = swapped[4].Point, swapped[3].Point
	for _, c := range []struct {
		what   string
		stamps []Stamp
		want   int
	}{
		{"by itself", stampsFrom(0), 1},
		{"others come before and after",
			append(stampsFrom(-100_000), append(stampsFrom(0), stampsFrom(100_000)...)...), 1},
		{"a ping arrives meanwhile", more(Stamp{Arrived, 500}), 0},
		{"nothing was synced", append(stampsFrom(0)[:4], stampsFrom(0)[5:]...), 0},
		{"two points are swapped", swapped, 0},
		{"nothing was seen", nil, 0},
	} {
		o := Follow("acquire", []Span{span}, c.stamps)
		if len(o.Whole) != c.want || o.Spans != 1 {
			t.Errorf("%s: %d of %d followed, want %d", c.what, len(o.Whole), o.Spans, c.want)
		}
		if c.want == 1 && (o.Hops[Synced][0] != time.Microsecond || o.Hops[Returned][0] != time.Microsecond) {
			t.Errorf("%s: the hops are %v", c.what, o.Hops)
		}
	}
}

func TestTheTableHasMediansInMicroseconds(t *testing.T) {
	o := &Operation{Name: "acquire"}
	for i := range 100 {
		begin := int64(i) * 1_000_000
		o.Spans++
		o.follow(Span{begin, begin + int64(Returned)*1000 + int64(i)*1000}, stampsFrom(begin))
	}
	var table strings.Builder
	if err := Write(&table, o); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"acquire: 100 of 100 followed", fmt.Sprintf("51.0   91.0  100.0  %s\n", hops[Returned]),
		fmt.Sprintf("1.0    1.0    1.0  %s\n", hops[Synced]), "60.0  100.0  109.0  the whole call",
	} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("%q is missing in\n%s", want, table.String())
		}
	}
	if err := Write(&table, &Operation{Name: "release", Spans: 3}); err == nil {
		t.Error("there is a table of nothing")
	}
}

func TestARecorderThatIsFullKeepsWhatItHas(t *testing.T) {
	r, err := NewRecorder(2)
	if err != nil {
		t.Fatal(err)
	}
	r.Now(Arrived)
	r.Before(Writing, time.Second)
	r.Now(Read)
	s := r.Stamps()
	if len(s) != 2 || s[0].Point != Arrived || s[1].Point != Writing || s[1].Nanos >= s[0].Nanos {
		t.Errorf("it has %v", s)
	}
	if n := testing.AllocsPerRun(100, func() { r.Now(Arrived) }); n > 0 {
		t.Errorf("a stamp allocates %v times", n)
	}
}
