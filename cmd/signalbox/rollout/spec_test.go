package rollout

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

// altered returns a spec changed by flags.
func altered(t *testing.T, spec rollout.Spec, args ...string) (rollout.Spec, error) {
	t.Helper()
	s, c := &specFlags{}, &cobra.Command{}
	s.add(c, specFile{})
	c.Flags().StringSliceVar(&s.removed, "remove-location", nil, "")
	if err := c.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	err := s.apply(c, &spec)
	return spec, err
}

func presentSpec() rollout.Spec {
	s := newSpec()
	s.Locations = []rollout.Location{
		{Name: "sas"}, {Name: "man", Delay: 5 * time.Second, Gates: []string{"errors"}, Require: 2}, {Name: "vla"},
	}
	return s
}

func TestFlagsChangeWhatTheySay(t *testing.T) {
	for _, c := range []struct {
		args   string
		change func(s *rollout.Spec)
	}{
		{"", func(*rollout.Spec) {}},
		{"--location man:1m", func(s *rollout.Spec) { s.Locations[1].Delay = time.Minute }},
		{"--location man::latency,errors", func(s *rollout.Spec) {
			s.Locations[1].Gates = []string{"latency", "errors"}
		}},
		{"--location man:0s:", func(s *rollout.Spec) { s.Locations[1].Delay, s.Locations[1].Gates = 0, nil }},
		{"--location iva:5s --remove-location man", func(s *rollout.Spec) {
			s.Locations = []rollout.Location{{Name: "sas"}, {Name: "vla"}, {Name: "iva", Delay: 5 * time.Second}}
		}},
		{"--require man=0,vla=3 --max-failing sas=1", func(s *rollout.Spec) {
			s.Locations[1].Require, s.Locations[2].Require, s.Locations[0].MaxFailing = 0, 3, 1
		}},
		{"--delay-from assigned --version-source requested --source-interval 3s", func(s *rollout.Spec) {
			s.DelayFrom, s.Versions, s.AskInterval = rollout.FromAssigned, rollout.Asked, 3*time.Second
		}},
		{"--reelect-codes a,b --reelect-after 2m --reelect-attempts 7 --reelect-interval 1s --reelect-most 9",
			func(s *rollout.Spec) {
				s.Reelect = rollout.Reelect{Codes: []string{"a", "b"}, After: 2 * time.Minute, Attempts: 7,
					Interval: time.Second, Most: 9}
			}},
		{"--progress-deadline 10m --halt-deadline 1h --keep-versions 8", func(s *rollout.Spec) {
			s.ProgressDeadline, s.HaltDeadline, s.KeepVersions = 10*time.Minute, time.Hour, 8
		}},
	} {
		want := presentSpec()
		c.change(&want)
		got, err := altered(t, presentSpec(), strings.Fields(c.args)...)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\ngot  %+v\nwant %+v", c.args, err, got, want)
		}
	}
}

func TestFlagsThatCannotBe(t *testing.T) {
	for args, want := range map[string]string{
		"--location man:soon": "--location man:soon: invalid delay soon; use a duration such " +
			"as 5s or 1m30s",
		"--location man:-5s":               "--location man:-5s: invalid delay -5s",
		"--location iva --location iva:5s": "--location iva is given twice",
		"--require iva=1": "--require iva: the location does not exist; locations are " +
			"sas, man, vla",
		"--max-failing iva=1":                     "--max-failing iva: the location does not exist",
		"--remove-location iva":                   "--remove-location iva: the location does not exist",
		"--require man=-1":                        "a number must not be negative, but is -1",
		"--halt-deadline -1s":                     "a duration must not be negative, but is -1s",
		"--version-source thin-air":               "version-source thin-air is invalid; must be published or requested",
		"--delay-from the-start":                  "delay-from the-start is invalid; must be reached or assigned",
		"--keep-versions -1 --source-interval 1s": "a number must not be negative, but is -1",
	} {
		_, err := altered(t, presentSpec(), strings.Fields(args)...)
		if cli.ExitCode(err) != cli.ExitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}

func TestAFileSaysWhatFlagsSay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "dns.yaml")
	f := plainFrame(&bytes.Buffer{})
	read := func(text string) (rollout.Spec, error) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return (&specFlags{file: file}).read(f)
	}
	_, text, _ := strings.Cut(fileHelp, "\n\n")
	got, err := read(text)
	want := newSpec()
	want.Reelect.Codes, want.ProgressDeadline = []string{"timestamp-out-of-range"}, 10*time.Minute
	want.Locations = []rollout.Location{
		{Name: "sas"}, {Name: "man", Delay: 5 * time.Second, Gates: []string{"errors", "latency"}},
		{Name: "vla", Delay: 5 * time.Second, Require: 2, MaxFailing: 1},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the file of the help: %v\ngot  %+v\nwant %+v", err, got, want)
	}
	// Printed output can be parsed again.
	var out bytes.Buffer
	if err := plainFrame(&out).YAML(newSpecFile(want)); err != nil {
		t.Fatal(err)
	}
	if got, err := read(out.String()); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, of\n%s\n%+v", err, &out, got)
	}
	if got, err := read(`{"locations": [{"name": "sas"}], "keep-versions": 8}`); err != nil || got.KeepVersions != 8 {
		t.Errorf("JSON: %+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"keeps: 3":                    "line 1: field keeps not found",
		"locations: [{delay: later}]": "line 1: cannot unmarshal",
		"keep: [":                     "yaml: ",
		"version-source: air":         "version-source air is invalid; must be published or requested",
	} {
		if _, err := read(text); cli.ExitCode(err) != cli.ExitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := (&specFlags{file: file + "x"}).read(f); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestDefaultsAreThoseOfHosts: the defaults in help are the host's defaults.
func TestDefaultsAreThoseOfHosts(t *testing.T) {
	got := newSpec()
	want := kind.Spec{Locations: got.Locations}.WithDefaults()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
