package rollout

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
)

func TestASpecIsReadAsItWasSent(t *testing.T) {
	spec := Spec{
		Locations: []Location{
			{Name: "sas", Gates: []string{"errors", "latency"}},
			{Name: "man", Delay: 5 * time.Second, Require: 2, MaxFailing: 1},
		},
		DelayFrom: FromAssigned, Versions: Asked,
		Reelect: Reelect{
			Codes: []string{"expired"}, After: time.Minute, Attempts: 3, Interval: time.Hour, Most: 5,
		},
		ProgressDeadline: time.Minute, HaltDeadline: time.Hour, KeepVersions: 7, AskInterval: 1500 * time.Millisecond,
	}
	sent := spec.message()
	var read protocol.RolloutSpec
	if err := protocol.ReadRecord(protocol.AppendRecord(nil, &sent), &read); err != nil {
		t.Fatal(err)
	}
	if got := specOf(&read); !reflect.DeepEqual(got, spec) {
		t.Errorf("got %+v, want %+v", got, spec)
	}
}

func TestTimesAreNeverSentShorter(t *testing.T) {
	for _, c := range []struct {
		of   time.Duration
		want uint64
	}{{0, 0}, {1, 1}, {time.Millisecond, 1}, {time.Millisecond + 1, 2}, {5 * time.Second, 5000}, {-time.Second, 0}} {
		if got := millis(c.of); got != c.want {
			t.Errorf("%v is sent as %d ms, want %d", c.of, got, c.want)
		}
	}
}

func TestANegativeNumberIsNotSentAsAnotherOne(t *testing.T) {
	for _, spec := range []Spec{
		{ProgressDeadline: -1}, {HaltDeadline: -1}, {AskInterval: -1}, {KeepVersions: -1},
		{Reelect: Reelect{After: -1}}, {Reelect: Reelect{Interval: -1}}, {Reelect: Reelect{Attempts: -1}},
		{Reelect: Reelect{Most: -1}}, {Locations: []Location{{Delay: -1}}}, {Locations: []Location{{Require: -1}}},
		{Locations: []Location{{MaxFailing: -1}}},
	} {
		if err := spec.check(); !errors.Is(err, client.ErrBadRequest) {
			t.Errorf("%+v: %v", spec, err)
		}
	}
	if err := (&Spec{Locations: []Location{{}}}).check(); err != nil {
		t.Error(err)
	}
}

func TestMomentsBecomeAges(t *testing.T) {
	now := clock(10_000)
	for _, c := range []struct {
		at   uint64
		want Moment
	}{
		{0, Moment{}},
		{1, Moment{Happened: true, Ago: 9999 * time.Millisecond, Time: time.Millisecond}},
		{10_000, Moment{Happened: true, Time: 10 * time.Second}},
		{10_001, Moment{Happened: true, Time: 10_001 * time.Millisecond}}, // in this very millisecond
	} {
		if got := now.moment(c.at, 0); got != c.want {
			t.Errorf("moment %d: got %+v, want %+v", c.at, got, c.want)
		}
	}
	if got := now.moment(1, 1_000_000); !got.Wall.Equal(time.UnixMilli(1_000_000)) {
		t.Errorf("by the wall clock: %v", got.Wall)
	}
	for at, want := range map[uint64]time.Duration{0: 0, 9000: 0, 10_000: 0, 12_000: 2 * time.Second} {
		if got := now.until(at); got != want {
			t.Errorf("until %d: %v, want %v", at, got, want)
		}
	}
}
