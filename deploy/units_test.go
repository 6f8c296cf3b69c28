package deploy_test

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/signalbox/signalbox/server/settings"
)

// directives returns a systemd unit's lines by name; a name may occur more than once.
func directives(t *testing.T, path string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string][]string)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '[' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			t.Errorf("%s: %q is no directive", path, line)
		}
		found[name] = append(found[name], value)
	}
	return found
}

func TestTheUnitOfSystemdStartsAHost(t *testing.T) {
	for file, reached := range map[string]bool{"signalbox.yaml": true, "alone.yaml": false} {
		s := settingsOfUnit(t, file)
		if s.ServesTLS() != reached || s.ServesHosts() != reached || !s.WantsHTTP() {
			t.Errorf("%s: reached by others is %v, and the settings are %+v", file, reached, s)
		}
	}
}

// TestUnitsStartAgainInASystemdOfDebian12, which does not support growing restart delays: systemd logs unknown
// directives, and no test reports them.
func TestUnitsStartAgainInASystemdOfDebian12(t *testing.T) {
	for _, file := range []string{"signalbox.service", "signalbox-ydb.service"} {
		unit := directives(t, "systemd/"+file)
		for _, name := range []string{"RestartSteps", "RestartMaxDelaySec"} {
			if unit[name] != nil {
				t.Errorf("%s: %s is of systemd 254", file, name)
			}
		}
		if d, err := time.ParseDuration(unit["RestartSec"][0]); err != nil || d < 3*time.Second {
			t.Errorf("%s: a host that fails for an hour is started again every %v, %v", file, d, err)
		}
	}
	unit := directives(t, "systemd/signalbox-ydb.service")
	text, err := os.ReadFile("systemd/signalbox-ydb.env")
	if err != nil {
		t.Fatal(err)
	}
	_, variable, ok := strings.Cut(unit["ExecStart"][0], " $")
	if !ok || !strings.Contains(string(text), "\n"+variable+"=\"--listen 127.0.0.1:") ||
		!strings.HasPrefix(unit["EnvironmentFile"][0], "-/etc/default/") {
		t.Errorf("the unit of the gateway starts %v with %v, which has\n%s", unit["ExecStart"],
			unit["EnvironmentFile"], text)
	}
}

// settingsOfUnit returns the settings of a host that the unit starts with one of the settings files.
func settingsOfUnit(t *testing.T, file string) settings.Settings {
	t.Helper()
	unit := directives(t, "systemd/signalbox.service")
	command := strings.Fields(unit["ExecStart"][0])
	if len(command) < 2 || command[1] != "serve" {
		t.Fatalf("ExecStart is %v", command)
	}
	set := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	flags := settings.AddFlags(set)
	text, err := os.ReadFile("systemd/" + file)
	if err != nil {
		t.Fatal(err)
	}
	installed := filepath.Join(t.TempDir(), "signalbox.yaml")
	if err := os.WriteFile(installed, []byte(here(t, string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, argument := range command {
		if argument == "/etc/signalbox/signalbox.yaml" {
			command[i] = installed
		}
	}
	if err := set.Parse(command[2:]); err != nil {
		t.Fatal(err)
	}
	s := load(t, "systemd: "+file, settings.Sources{Flags: flags})
	if want := "/var/lib/" + unit["StateDirectory"][0]; s.DataDir != want {
		t.Errorf("the data directory is %s, and it may only write to %s", s.DataDir, want)
	}
	stopsInTime(t, "the unit", unit["TimeoutStopSec"][0])
	// Exit code 69 means that an address is not available yet. The wait may outlast any number of attempts.
	if got := unit["StartLimitIntervalSec"]; !slices.Equal(got, []string{"0"}) || unit["StartLimitBurst"] != nil {
		t.Errorf("it gives up: StartLimitIntervalSec is %v, StartLimitBurst %v", got, unit["StartLimitBurst"])
	}
	if got := unit["RestartPreventExitStatus"]; !slices.Equal(got, []string{"64 65"}) {
		t.Errorf("it starts again after all codes but %v", got)
	}
	if n, err := strconv.Atoi(unit["LimitNOFILE"][0]); err != nil || n < 65536 {
		t.Errorf("the limit of open files is %v", unit["LimitNOFILE"])
	}
	// With ProcSubset the listen backlog falls back to an old default, because systemd hides the kernel's setting.
	if unit["ProcSubset"] != nil {
		t.Error("ProcSubset hides /proc/sys/net/core/somaxconn from the host")
	}
	return s
}
