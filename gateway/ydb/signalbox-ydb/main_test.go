package main

import (
	"errors"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/gateway/ydb"
)

// TestWhatDiscoveryNames is read from --advertise.
func TestWhatDiscoveryNames(t *testing.T) {
	for list, want := range map[string][]ydb.Endpoint{
		"":                {},
		"a.example:2136":  {{Address: "a.example", Port: 2136}},
		"[::1]:1/a, b:2,": {{Address: "::1", Port: 1, Location: "a"}, {Address: "b", Port: 2}},
	} {
		if got, err := endpointsOf("advertise", list); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q names %v, %v; want %v", list, got, err, want)
		}
	}
	for _, list := range []string{"a", "a:x", "a:70000", "a:1,b"} {
		if got, err := endpointsOf("advertise", list); err == nil {
			t.Errorf("%q names %v", list, got)
		}
	}
}

// TestFlagsThatAreWrong are refused before anything starts.
func TestFlagsThatAreWrong(t *testing.T) {
	for _, args := range []string{"--tls-cert x", "--tls-key x", "more", "--cluster-tls maybe", "--advertise a",
		"--cluster-tls on --cluster-ca /is/not/there", "--publish a:1 --advertise a:1", "--publish a",
		"--publish a:1,b:1", "--publish a:0", "--publish :1", "--publish a:1 --token-file /is/not/there"} {
		o, err := parse(strings.Fields(args))
		if err == nil {
			_, err = configOf(o, slog.New(slog.DiscardHandler))
		}
		if err == nil {
			err = publish(o, nil)
		}
		if err == nil || errors.Is(err, flag.ErrHelp) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// flags finds what looks like a flag with a value.
var flags = regexp.MustCompile(`(?m) --([a-z-]+)[ =][^-]`)

// TestFlagsOfTheUnit: those that the unit, the comment of the image and the manifest name are flags of this program.
func TestFlagsOfTheUnit(t *testing.T) {
	deploy := filepath.Join("..", "..", "..", "deploy")
	for _, file := range []string{"systemd/signalbox-ydb.service", "ydb.Dockerfile", "kubernetes/ydb.yaml"} {
		text, err := os.ReadFile(filepath.Join(deploy, file))
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, name := range flags.FindAllStringSubmatch(string(text), -1) {
			if slices.Contains([]string{"from", "now"}, name[1]) { // of COPY, and of systemctl
				continue
			}
			found++
			_, err := parse([]string{"--" + name[1], "1"})
			if err != nil && strings.Contains(err.Error(), "not defined") {
				t.Errorf("%s: there is no --%s", file, name[1])
			}
		}
		if found < 2 {
			t.Errorf("%s names %d flags", file, found)
		}
	}
}
