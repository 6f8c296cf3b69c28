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
