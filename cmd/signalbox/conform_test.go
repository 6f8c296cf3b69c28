package main

import (
	"strings"
	"testing"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// TestConformReportsWhatADriverDoesWrong: a program that is not a driver fails, and the report has its behaviour.
func TestConformReportsWhatADriverDoesWrong(t *testing.T) {
	const script = "a-loss-ends-one-lease-and-not-the-session"
	for what, x := range map[string]struct {
		driver string
		said   string
	}{
		"ends without a word": {`echo "no client here" >&2`, "no client here"},
		"says what is no JSON": {`echo '{"driver": "x"}'; read line; echo nonsense; read line`,
			"the driver says what is no JSON object: nonsense"},
		"replies to what was not " +
			"asked": {`echo '{"driver": "x"}'; read line; echo '{"id": "z", "ok": true}'; read line`,
			`the driver replies to "z", which is no command`},
		"fails": {`echo '{"driver": "x"}'; read line; echo '{"id": "c", "error": "FAILED", "message": "no way"}'; read line`,
			"c fails with FAILED: no way"},
		"says neither": {`echo '{"driver": "x"}'; read line; echo '{"id": "c"}'; read line`,
			`the driver's reply to "c" is neither ok nor an error`},
	} {
		t.Run(what, func(t *testing.T) {
			code, out, err := command(nil, "conformance", "--script", script, "--", "sh", "-c", x.driver)
			if code != cli.ExitFailed || !strings.Contains(out, x.said) ||
				!strings.Contains(err, "1 of 1 scripts failed") {
				t.Errorf("code %d\n%s\n%s", code, out, err)
			}
		})
	}
	// A script beyond the driver's abilities is skipped, and does not fail.
	code, out, err := command(nil, "conformance", "--script", "a-node-is-created-once", "--", "sh", "-c",
		`echo '{"driver": "x", "can": ["watch"]}'; read line`)
	if code != 0 || !strings.Contains(out, `needs the feature "node"`) {
		t.Errorf("code %d\n%s\n%s", code, out, err)
	}
}

// TestConformListsItsScripts: by script name, or by file name.
func TestConformListsItsScripts(t *testing.T) {
	code, all, _ := command(nil, "conformance", "--list")
	if code != 0 || strings.Count(all, "\n") < 80 {
		t.Errorf("code %d, %d scripts", code, strings.Count(all, "\n"))
	}
	code, some, _ := command(nil, "conformance", "--list", "--script", "leases", "--script", "a-refusal-is-final")
	if code != 0 || !strings.Contains(some, "a-refusal-is-final: ") ||
		strings.Count(some, "\n") >= strings.Count(all, "\n") {
		t.Errorf("code %d\n%s", code, some)
	}
	for _, x := range []struct {
		args []string
		code int
		said string
	}{
		{[]string{"--script", "nothing", "--", "true"}, cli.ExitNotFound, `script "nothing" does not exist`},
		{[]string{"true"}, cli.ExitUsage, "the driver is missing; give its command after --"},
		{[]string{"--parallel", "0", "--", "true"}, cli.ExitUsage, "--parallel"},
	} {
		if code, _, err := command(nil, append([]string{"conformance"}, x.args...)...); code != x.code ||
			!strings.Contains(err, x.said) {
			t.Errorf("%v: code %d, %s", x.args, code, err)
		}
	}
}
