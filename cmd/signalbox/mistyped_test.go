package main

import (
	"maps"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

func TestWhatToWriteInsteadOfWhatWasMistyped(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"stauts"}, cli.ExitUsage, `unknown command "stauts"; did you mean status?`},
		{[]string{"lok", "/a", "b"}, cli.ExitUsage, `unknown command "lok"; did you mean lock?`},
		{[]string{"node", "lst"}, cli.ExitUsage, `unknown command "lst"; did you mean list?`},
		{[]string{"completion", "fsh"}, cli.ExitUsage, `unknown command "fsh"; did you mean fish or zsh?`},
		{[]string{"node", "get"}, cli.ExitUsage, `unknown command "get"; signalbox node --help lists the commands`},
		{[]string{"host", "c", "drain"}, cli.ExitUsage, `unknown command "c"; did you mean signalbox host drain c?`},
		{[]string{"host", "c"}, cli.ExitUsage, `unknown command "c"; signalbox host --help lists the commands`},
		{[]string{"lock", "/a", "b", "--wait", "5", "--", "true"}, cli.ExitUsage, "; use a duration such as " +
			"500ms, 10s or 1m"},
		{[]string{"lock", "/a", "b", "--wait", "soon", "--", "true"}, cli.ExitUsage,
			`signalbox: invalid argument "soon" for "--wait" flag; use a duration such as 500ms, 10s or 1m`},
		{[]string{"cluster", "audit", "--limit", "x"}, cli.ExitUsage,
			`signalbox: invalid argument "x" for "--limit" flag; use a whole number`},
		{[]string{"status", "--endpoints", "http://127.0.0.1:7420"}, cli.ExitUnavailable,
			"give others with --endpoints, written HOST:PORT"},
		{[]string{"status", "--json"}, cli.ExitUsage, "unknown flag: --json; use -o json for JSON"},
		{[]string{"context", "list", "--json"}, cli.ExitUsage, "unknown flag: --json; use -o json for JSON"},
		{[]string{"status", "--endpoint", "x"}, cli.ExitUsage, "unknown flag: --endpoint; did you mean --endpoints?"},
		{[]string{"lock", "--session", "5s", "/a", "b"}, cli.ExitUsage,
			"unknown flag: --session; did you mean --session-timeout?"},
		{[]string{"status", "--something-else"}, cli.ExitUsage,
			"unknown flag: --something-else; signalbox status --help lists the flags"},
		{[]string{"status", "--context", "nowhere"}, cli.ExitNotFound,
			"context nowhere does not exist; signalbox context set nowhere --endpoints HOST:PORT makes it"},
		{[]string{"--tls", "--timeout", "5s", "node", "describe"}, cli.ExitUsage,
			"PATH is missing; usage: signalbox node describe PATH [flags]"},
		{[]string{"access", "grant", "token:ci", "read", "/prod/b/../a"}, cli.ExitUsage,
			"nothing but dots; did you mean /prod/a?"},
		{[]string{"access", "token", "create", "ci", "--grant", "read:/prod/"}, cli.ExitUsage, "did you mean /prod?"},
		{[]string{"access", "role", "set", "r", "--rule", "read:a b"}, cli.ExitUsage,
			"; write it like /prod/jobs, or / for all"},
		{[]string{"inspect", "nowhere"}, cli.ExitData, "the directory does not exist"},
	} {
		code, out, err := command(nil, c.args...)
		if code != c.code || out != "" || !strings.HasSuffix(err, c.want+"\n") {
			t.Errorf("%v: code %d, out %q\ngot  %swant %s", c.args, code, out, err, c.want)
		}
	}
}

// TestWordsOfOtherToolsLeadToCommandsHere: every suggestion is a command.
func TestWordsOfOtherToolsLeadToCommandsHere(t *testing.T) {
	words := map[string]string{
		"get": "config get", "put": "config put", "member list": "host list", "snapshot save": "backup save",
		"endpoint health": "check", "kv get": "config get", "operator raft list-peers": "host list",
		"node delete": "node drop", "rollout undo": "rollout rollback", "config set": "config put",
	}
	maps.Copy(words, cli.OtherTools)
	root := newRoot(cli.Streams{})
	for word, here := range words {
		if c, rest, err := root.Find(strings.Fields(here)); err != nil || len(rest) > 0 || !c.Runnable() {
			t.Errorf("%s leads to %s, and there is no such command", word, here)
		}
		for _, more := range []string{"", " x", " --prefix x"} { // whose flags are unknown too
			code, _, err := command(nil, strings.Fields(word+more)...)
			if code != cli.ExitUsage || !strings.HasSuffix(err, "; use signalbox "+here+"\n") {
				t.Errorf("%s: code %d, %swant %s", word+more, code, err, here)
			}
		}
	}
}
