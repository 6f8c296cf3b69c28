package trace

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/internal/subprocess"
	"github.com/signalbox/signalbox/shard"
)

// TestEachWorkIsFollowed runs host and callers in this process.
func TestEachWorkIsFollowed(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a host with a disk")
	}
	for _, name := range Works() {
		t.Run(name, func(t *testing.T) { isFollowed(t, name, 1) })
	}
	t.Run("lock on three hosts", func(t *testing.T) { isFollowed(t, "lock", 3) })
}

func isFollowed(t *testing.T, name string, count int) {
	work, ok := WorkOf(name)
	if !ok {
		t.Fatal("there is no such work")
	}
	ports, err := subprocess.ReservePorts(2 * count)
	if err != nil {
		t.Fatal(err)
	}
	defer ports.Close()
	clients, others := ports.Addresses[:count], ports.Addresses[count:]
	if count == 1 {
		others = nil
	}
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	listens, ended := make(chan struct{}, count), make(chan error, count)
	var files []string
	for i, client := range clients {
		at := Place{Dir: filepath.Join(dir, fmt.Sprint(i+1)), Client: client, Self: shard.HostID(i + 1), Hosts: others}
		files = append(files, at.Dir+".stamps")
		go func() { ended <- Serve(ctx, at, files[i], func() { listens <- struct{}{} }) }()
	}
	for range clients {
		select {
		case <-listens:
		case err := <-ended:
			t.Fatal(err)
		}
	}
	stop := func() ([]string, error) {
		cancel()
		for range clients {
			if err := <-ended; err != nil {
				return nil, err
			}
		}
		return files, nil
	}
	operations, err := Of(t.Context(), strings.Join(clients, ","), work, 5, 200, stop)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range operations {
		if o.Spans != 200 || len(o.Whole) == 0 {
			t.Fatalf("%d of %d %ss were followed", len(o.Whole), o.Spans, o.Name)
		}
		for i, whole := range o.Whole {
			var sum time.Duration
			for p := range o.Hops {
				sum += o.Parts[p][i]
			}
			if sum != whole {
				t.Fatalf("the hops of %s %d add up to %v, and it took %v", o.Name, i, sum, whole)
			}
		}
	}
	var table strings.Builder
	if err := Write(&table, operations...); err != nil {
		t.Fatal(err)
	}
	t.Log(table.String())
	for _, hop := range work.hops(count > 1) {
		if strings.Count(table.String(), hop.What) != len(operations) {
			t.Errorf("the hop %q is not in each table:\n%s", hop.What, table.String())
		}
	}
}

// locks are the hops for an acquire on one host.
var locks = works[0].hops(false)

// stampsFrom has every acquire point once, a microsecond apart.
func stampsFrom(begin int64) (all []Stamp) {
	for i, hop := range locks[:len(locks)-1] {
		all = append(all, Stamp{hop.To, begin + int64(i+1)*1000})
	}
	return all
}

func TestOnlyAnOperationByItselfIsFollowed(t *testing.T) {
	span := Span{0, int64(len(locks)) * 1000}
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
		{"another host writes meanwhile", more(Stamp{OthersWriting, 500}), 1},
		{"a ping arrives meanwhile", more(Stamp{Arrived, 500}), 0},
		{"nothing was synced", append(stampsFrom(0)[:4], stampsFrom(0)[5:]...), 0},
		{"two points are swapped", swapped, 0},
		{"nothing was seen", nil, 0},
	} {
		o := Follow("acquire", locks, []Span{span}, c.stamps)
		if len(o.Whole) != c.want || o.Spans != 1 {
			t.Errorf("%s: %d of %d followed, want %d", c.what, len(o.Whole), o.Spans, c.want)
		}
		for i := range locks {
			if c.want == 1 && o.Parts[i][0] != time.Microsecond {
				t.Errorf("%s: hop %d took %v", c.what, i, o.Parts[i])
			}
		}
	}
}

// TestTheFirstOfTheOtherHostsCounts: a majority needs no more.
func TestTheFirstOfTheOtherHostsCounts(t *testing.T) {
	hops := works[0].hops(true)
	var stamps []Stamp
	for i, hop := range hops[:len(hops)-1] {
		stamps = append(stamps, Stamp{hop.To, int64(i+1) * 1000})
		if hop.Any {
			stamps = append(stamps, Stamp{hop.To, int64(i+1)*1000 + 7000})
		}
	}
	o := Follow("acquire", hops, []Span{{0, int64(len(hops)) * 1000}}, stamps)
	if len(o.Whole) != 1 {
		t.Fatal("it was not followed")
	}
	for i, hop := range hops {
		if o.Parts[i][0] != time.Microsecond {
			t.Errorf("%q took %v", hop.What, o.Parts[i][0])
		}
	}
}

func TestTheTableHasMediansInMicroseconds(t *testing.T) {
	o := Follow("acquire", locks, nil, nil)
	for i := range 100 {
		begin := int64(i) * 1_000_000
		o.Spans++
		o.follow(Span{begin, begin + int64(len(locks)+i)*1000}, stampsFrom(begin))
	}
	var table strings.Builder
	if err := Write(&table, o); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"acquire: 100 of 100 followed", fmt.Sprintf("51.0   91.0  100.0  %s\n", locks[len(locks)-1].What),
		"1.0    1.0    1.0  store: write and sync\n", "60.0  100.0  109.0  the whole of it",
	} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("%q is missing in\n%s", want, table.String())
		}
	}
	if err := Write(&table, Follow("release", locks, []Span{{0, 1}}, nil)); err == nil {
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
