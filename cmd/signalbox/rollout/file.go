package rollout

import (
	"cmp"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// specFile is an operator's rollout spec as written in a file. The names are the same as for the flags.
type specFile struct {
	Locations       []fileLocation `yaml:"locations"`
	DelayFrom       string         `yaml:"delay-from"`
	Source          string         `yaml:"version-source"`
	ReelectCodes    []string       `yaml:"reelect-codes,flow"`
	ReelectAfter    time.Duration  `yaml:"reelect-after"`
	ReelectAttempts int            `yaml:"reelect-attempts"`
	ReelectInterval time.Duration  `yaml:"reelect-interval"`
	ReelectMost     int            `yaml:"reelect-most"`
	Progress        time.Duration  `yaml:"progress-deadline"`
	Halt            time.Duration  `yaml:"halt-deadline"`
	Keep            int            `yaml:"keep-versions"`
	AskInterval     time.Duration  `yaml:"source-interval"`
}

// fileLocation is a location in a file.
type fileLocation struct {
	Name       string        `yaml:"name"`
	Delay      time.Duration `yaml:"delay,omitempty"`
	Gates      []string      `yaml:"gates,omitempty,flow"`
	Require    int           `yaml:"require,omitempty"`
	MaxFailing int           `yaml:"max-failing,omitempty"`
}

// Words for the choices.
var (
	delaysFrom     = byWord(rollout.FromReached, rollout.FromAssigned)
	versionSources = byWord(rollout.Published, rollout.Asked)
)

// byWord maps words to values.
func byWord[T fmt.Stringer](values ...T) map[string]T {
	words := make(map[string]T, len(values))
	for _, v := range values {
		words[v.String()] = v
	}
	return words
}

// newSpecFile converts a spec to its file form.
func newSpecFile(s rollout.Spec) specFile {
	f := specFile{
		DelayFrom: s.DelayFrom.String(), Source: s.Versions.String(), ReelectCodes: s.Reelect.Codes,
		ReelectAfter: s.Reelect.After, ReelectAttempts: s.Reelect.Attempts, ReelectInterval: s.Reelect.Interval,
		ReelectMost: s.Reelect.Most, Progress: s.ProgressDeadline, Halt: s.HaltDeadline, Keep: s.KeepVersions,
		AskInterval: s.AskInterval,
	}
	for _, l := range s.Locations {
		f.Locations = append(f.Locations, fileLocation{l.Name, l.Delay, l.Gates, l.Require, l.MaxFailing})
	}
	return f
}

// spec returns the spec in a file. A host checks most of the spec.
func (s *specFile) spec() (rollout.Spec, error) {
	spec := rollout.Spec{
		Reelect: rollout.Reelect{
			Codes: s.ReelectCodes, After: s.ReelectAfter, Attempts: s.ReelectAttempts, Interval: s.ReelectInterval,
			Most: s.ReelectMost,
		},
		ProgressDeadline: s.Progress, HaltDeadline: s.Halt, KeepVersions: s.Keep, AskInterval: s.AskInterval,
	}
	var err error
	var wrong error
	spec.DelayFrom, err = cli.OneOf("delay-from", s.DelayFrom, delaysFrom, "reached or assigned")
	spec.Versions, wrong = cli.OneOf("version-source", s.Source, versionSources, "published or requested")
	err = cmp.Or(err, wrong)
	times := []time.Duration{s.ReelectAfter, s.ReelectInterval, s.Progress, s.Halt, s.AskInterval}
	numbers := []int{s.ReelectAttempts, s.ReelectMost, s.Keep}
	for _, l := range s.Locations {
		spec.Locations = append(spec.Locations, rollout.Location{
			Name: l.Name, Delay: l.Delay, Require: l.Require, MaxFailing: l.MaxFailing, Gates: l.Gates,
		})
		times = append(times, l.Delay)
		numbers = append(numbers, l.Require, l.MaxFailing)
	}
	if d := cli.Find(times, func(d *time.Duration) bool { return *d < 0 }); d != nil {
		err = cmp.Or(err, cli.Errorf(cli.ExitUsage, "a duration must not be negative, but is %v", *d))
	}
	if n := cli.Find(numbers, func(n *int) bool { return *n < 0 }); n != nil {
		err = cmp.Or(err, cli.Errorf(cli.ExitUsage, "a number must not be negative, but is %d", *n))
	}
	return spec, err
}
