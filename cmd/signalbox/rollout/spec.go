package rollout

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// specFlags are the flags for a rollout spec.
type specFlags struct {
	given      specFile // values from single flags
	locations  []string
	removed    []string
	require    map[string]int
	maxFailing map[string]int
	codes      []string
	file       string
	act        cli.ActFlags
}

// add adds the flags, with the defaults that the help shows.
func (s *specFlags) add(c *cobra.Command, otherwise specFile) {
	fs := c.Flags()
	s.given = otherwise
	s.given.bind(fs)
	fs.StringArrayVar(&s.locations, "location", nil, "Location, `NAME:DELAY:GATES`. The delay and the gates, "+
		"separated by commas, are optional. Repeat the flag in rollout order")
	fs.StringToIntVar(&s.require, "require", nil, "Leaders that must reach a target, `LOCATION=NUMBER`. 0 is "+
		"all. Separated by commas")
	fs.StringToIntVar(&s.maxFailing, "max-failing", nil, "Instances that may fail, `LOCATION=NUMBER`. More "+
		"failures cause a re-election. Separated by commas")
	fs.StringSliceVar(&s.codes, "reelect-codes", nil, "Error `CODES` that replace a target at once. Separated by "+
		"commas")
	fs.StringVar(&s.file, "file", "", "`FILE` with the whole spec, or - for standard input. Flags override it")
	s.act.Add(c, "rollout")
	_ = c.MarkFlagFilename("file", "yaml", "yml", "json")
	const whole = cobra.ShellCompDirectiveNoFileComp
	_ = c.RegisterFlagCompletionFunc("delay-from",
		cobra.FixedCompletions(slices.Sorted(maps.Keys(delaysFrom)), whole))
	_ = c.RegisterFlagCompletionFunc("version-source", cobra.FixedCompletions(slices.Sorted(maps.Keys(versionSources)),
		whole))
}

// bind binds flags to the fields for the rollout as a whole.
func (s *specFile) bind(fs *pflag.FlagSet) {
	fs.StringVar(&s.DelayFrom, "delay-from", s.DelayFrom, "Start of delays, `WORD`: reached or assigned. In the "+
		"location before, when the version is reached or assigned")
	fs.StringVar(&s.Source, "version-source", s.Source, "Version source, `WORD`: published or requested. Users "+
		"publish versions, or a source program provides them on request")
	fs.DurationVar(&s.ReelectAfter, "reelect-after", s.ReelectAfter, "Replace a target that fails for `DURATION`")
	fs.IntVar(&s.ReelectAttempts, "reelect-attempts", s.ReelectAttempts, "Minimum failures before a replacement, "+
		"`NUMBER`")
	fs.DurationVar(&s.ReelectInterval, "reelect-interval", s.ReelectInterval, "Minimum time between replacements, "+
		"`DURATION`")
	fs.IntVar(&s.ReelectMost, "reelect-most", s.ReelectMost, "Halt after `NUMBER` replacements in a row")
	fs.DurationVar(&s.Progress, "progress-deadline", s.Progress, "Time to reach a target, `DURATION`. After it the "+
		"location is stuck. 0s is never")
	fs.DurationVar(&s.Halt, "halt-deadline", s.Halt, "Time to reach a target or halt, `DURATION`. 0s is never")
	fs.IntVar(&s.Keep, "keep-versions", s.Keep, "Versions and location targets to keep, `NUMBER`")
	fs.DurationVar(&s.AskInterval, "source-interval", s.AskInterval, "Polling interval of a source, `DURATION`. "+
		"Used if no leader asks")
}

// newSpec returns the default spec for a new rollout.
func newSpec() rollout.Spec {
	return rollout.Spec{
		Reelect:      rollout.Reelect{After: time.Minute, Attempts: 3, Interval: 10 * time.Second, Most: 5},
		KeepVersions: 64, AskInterval: time.Second,
	}
}

// read returns the spec in the --file file. Omitted fields get a new rollout's defaults.
func (s *specFlags) read(f *cli.Frame) (rollout.Spec, error) {
	from := "@" + s.file
	if s.file == "-" {
		from = s.file
	}
	data, err := f.Data(from)
	if err != nil {
		return rollout.Spec{}, err
	}
	file := newSpecFile(newSpec())
	if err := cli.DecodeYAML(data, &file); err != nil {
		return rollout.Spec{}, cli.Errorf(cli.ExitUsage, "cannot read %s: %w", cli.Safe(s.file), err)
	}
	return file.spec()
}

// apply changes a spec according to the flags.
func (s *specFlags) apply(c *cobra.Command, spec *rollout.Spec) error {
	file := newSpecFile(*spec)
	single := pflag.NewFlagSet("", pflag.ContinueOnError)
	file.bind(single)
	if err := cli.CopyGiven(c.Flags(), single); err != nil {
		return err
	}
	if c.Flags().Changed("reelect-codes") {
		file.ReelectCodes = s.codes
	}
	given := make(map[string]bool)
	for _, text := range s.locations {
		name, _, _ := strings.Cut(text, ":")
		if given[name] {
			return cli.Errorf(cli.ExitUsage, "--location %s is given twice", cli.Safe(name))
		}
		given[name] = true
		if err := file.change(text); err != nil {
			return cli.ExitWith(cli.ExitUsage, err)
		}
	}
	for _, name := range s.removed {
		l, err := file.find("--remove-location", name)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(file.Locations, func(other fileLocation) bool { return other.Name == l.Name })
		file.Locations = slices.Delete(file.Locations, at, at+1)
	}
	err := errors.Join(
		file.each("--require", s.require, func(l *fileLocation, n int) { l.Require = n }),
		file.each("--max-failing", s.maxFailing, func(l *fileLocation, n int) { l.MaxFailing = n }))
	if err == nil {
		*spec, err = file.spec()
	}
	return err
}

// each sets a number for every location in a flag.
func (s *specFile) each(flag string, numbers map[string]int, set func(*fileLocation, int)) error {
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		l, err := s.find(flag, name)
		if err != nil {
			return err
		}
		set(l, numbers[name])
	}
	return nil
}

// find returns the location a flag names.
func (s *specFile) find(flag, name string) (*fileLocation, error) {
	if l := cli.Find(s.Locations, func(l *fileLocation) bool { return l.Name == name }); l != nil {
		return l, nil
	}
	names := cli.Map(s.Locations, func(l fileLocation) string { return l.Name })
	return nil, cli.Errorf(cli.ExitUsage, "%s %s: the location does not exist; locations are %s", flag, cli.Safe(name),
		cli.Safe(strings.Join(names, ", ")))
}

// change adds a location at the end, or changes the location with the name; parts omitted in the text stay unchanged.
func (s *specFile) change(text string) error {
	parts := strings.SplitN(text, ":", 3)
	at := slices.IndexFunc(s.Locations, func(l fileLocation) bool { return l.Name == parts[0] })
	if at < 0 {
		at = len(s.Locations)
		s.Locations = append(s.Locations, fileLocation{Name: parts[0]})
	}
	l := &s.Locations[at]
	if len(parts) > 1 && parts[1] != "" {
		delay, err := time.ParseDuration(parts[1])
		if err != nil || delay < 0 {
			return fmt.Errorf("--location %s: invalid delay %s; use a duration such as 5s or 1m30s", cli.Safe(text),
				cli.Safe(parts[1]))
		}
		l.Delay = delay
	}
	if len(parts) > 2 {
		l.Gates = nil
		if parts[2] != "" {
			l.Gates = strings.Split(parts[2], ",")
		}
	}
	return nil
}
