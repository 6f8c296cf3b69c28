package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/status"
	"github.com/signalbox/signalbox/protocol/health"
)

// page returns the response body of an address.
func page(t *testing.T, address string) string {
	t.Helper()
	a, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// kindsIn returns the kinds and subjects in a JSON list with the member items or health_issues.
func kindsIn(t *testing.T, text string) []string {
	t.Helper()
	var list struct {
		Items        []struct{ Kind, Subject string }
		HealthIssues []struct{ Kind, Subject string } `json:"health_issues"`
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	var kinds []string
	for _, c := range append(list.Items, list.HealthIssues...) {
		kinds = append(kinds, fmt.Sprintf("%s %s", c.Kind, c.Subject))
	}
	slices.Sort(kinds)
	return kinds
}

// TestNothingStuckIsGreen: two rollouts are blocked and a round hangs. Check, status, cluster why, HTTP and metrics all
// report the same issues, and drop an issue once its subject advances.
func TestNothingStuckIsGreen(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.HTTP = newPlace(t).Client // a reserved address
	p.serve(t).awaitReady()
	x := newTool(t, p.Client)
	x.ok("node", "create", "/jobs")
	x.await("all is green", func() bool {
		r := x.run("check", "--quiet")
		return !strings.Contains(r.out, "rollout") && !strings.Contains(r.out, "process")
	})
	for _, name := range []string{"dns", "web"} {
		x.ok("rollout", "create", "/jobs", name, "--location", "sas")
		x.ok("rollout", "publish", "/jobs", name, "one")
	}
	x.ok("process", "create", "/jobs", "counter", "--reply-timeout", "10ms")
	// The shell execs the command, so that no process is left if the test ends first.
	a := x.member("/jobs", "a", "--observer=false", "--on-prepare", "exec sleep 600", "--kill-after", "0s")
	want := []string{"rollout-blocked rollout dns in /jobs", "rollout-blocked rollout web in /jobs",
		"process-member-overdue process counter in /jobs"}
	var kinds []string
	has := func(text string) bool {
		kinds = kindsIn(t, text)
		return !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(kinds, w) })
	}
	x.await("status knows", func() bool { return has(x.run("status", "-o", "json").out) })
	same := kinds
	if !has(x.run("cluster", "why", "-o", "json").out) || !slices.Equal(kinds, same) {
		t.Errorf("cluster why says %v, and status %v", kinds, same)
	}
	if !has(page(t, "http://"+p.HTTP+"/v1/health")) || !slices.Equal(kinds, same) {
		t.Errorf("HTTP says %v, and status %v", kinds, same)
	}
	r := x.run("check", "--quiet")
	for _, subject := range []string{"rollout dns in /jobs", "rollout web in /jobs", "process counter in /jobs"} {
		if !strings.Contains(r.out, "warn "+subject+": ") {
			t.Errorf("check says nothing of %s: %s", subject, r.out)
		}
	}
	if r.code != status.ExitWarned && r.code != status.ExitUnwell {
		t.Errorf("it ends with %d: %s", r.code, r.out)
	}
	metrics := page(t, "http://"+p.Admin+"/metrics")
	for _, series := range []string{`signalbox_health_issues{kind="rollout-blocked",severity="warning"} 2`,
		`signalbox_health_issues{kind="process-member-overdue",severity="warning"} 1`,
		`signalbox_health_issues{kind="rollout-halted",severity="warning"} 0`} {
		if !strings.Contains(metrics, series+"\n") {
			t.Errorf("the metrics have no %s", series)
		}
	}
	a.endsBy(syscall.SIGTERM, cli.ExitDone)
	x.ok("rollout", "delete", "/jobs", "dns", "--force", "--yes")
	x.ok("rollout", "delete", "/jobs", "web", "--force", "--yes")
	x.await("all is green again", func() bool {
		left := kindsIn(t, x.run("status", "-o", "json").out)
		return !slices.ContainsFunc(want, func(w string) bool { return slices.Contains(left, w) })
	})
}

// TestWhyNamesTheHostsThatAreHeardWithoutAMajority: two hosts in a cluster with three are killed. Cluster why names the
// hosts that respond, the silent hosts, and the steps if the silent hosts are permanently lost. Check reports the same.
func TestWhyNamesTheHostsThatAreHeardWithoutAMajority(t *testing.T) {
	var hosts []*hostProcess
	var endpoints []string
	for _, p := range newCluster(t, "a", "b", "c") {
		hosts = append(hosts, p.serve(t))
		endpoints = append(endpoints, p.Client)
	}
	for _, s := range hosts {
		s.awaitReady()
	}
	x := newTool(t, hosts[0].place.Client).with("SIGNALBOX_ENDPOINTS=" + strings.Join(endpoints, ","))
	x.await("nothing to do", func() bool {
		r := x.run("cluster", "why", "-o", "json")
		return r.code == 0 && r.out != "" && len(kindsIn(t, r.out)) == 0
	})
	for _, s := range hosts[1:] {
		s.signal(syscall.SIGKILL)
		s.wait(patience)
	}
	var r result
	hosts[0].await("cluster why says who is heard", func() bool {
		r = x.run("cluster", "why", "--timeout", "10s")
		return strings.Contains(r.out, "1 of 3 voters answer: a; unreachable: b, c")
	})
	if r.code != cli.ExitUnavailable || !strings.Contains(r.out, "signalbox cluster recover") ||
		!strings.Contains(r.out, "no host governs the cluster") {
		t.Errorf("code %d: %s%s", r.code, r.out, r.err)
	}
	if r = x.run("check", "--timeout", "10s"); r.code != status.ExitUnwell ||
		!strings.Contains(r.out, "fail shards meta, 1") ||
		!strings.Contains(r.out, "signalbox cluster recover") || !strings.Contains(r.out, "fail answers: 2 of 3 ") {
		t.Errorf("code %d: %s%s", r.code, r.out, r.err)
	}
}

// TestHealthIssueHintsAreCommands: the commands in health issue hints exist, and accept the hint's words.
func TestHealthIssueHintsAreCommands(t *testing.T) {
	word := regexp.MustCompile(`^(?:(?:--)?[a-z][a-z-]*|\{[a-z]+\}|[A-Z]+(?::[A-Z]+)?)$`)
	typed := 0
	for _, row := range health.Kinds {
		for _, after := range strings.Split(row.Do, "signalbox ")[1:] {
			words := strings.Fields(after)
			end := slices.IndexFunc(words, func(w string) bool { return !word.MatchString(w) })
			if end < 0 {
				end = len(words)
			}
			c, rest, err := newRoot(cli.Streams{}).Find(words[:end])
			if err != nil || !c.Runnable() || c.Parent() == nil {
				t.Errorf("%s: there is no command %q: %v", row.Kind, words[:end], err)
				continue
			}
			var args []string
			for _, w := range rest {
				name, flag := strings.CutPrefix(w, "--")
				if flag && c.Flags().Lookup(name) == nil {
					t.Errorf("%s: %s has no flag %s", row.Kind, c.CommandPath(), w)
				}
				if !strings.HasPrefix(w, "{") && strings.ToUpper(w) != w {
					break // the sentence goes on
				}
				args = append(args, w)
			}
			if len(args) == 0 || slices.ContainsFunc(rest, func(w string) bool { return strings.HasPrefix(w, "--") }) {
				continue // the command is only mentioned, or its words belong to flags
			}
			typed++
			if err := c.ValidateArgs(args); err != nil {
				t.Errorf("%s: %s %v: %v", row.Kind, c.CommandPath(), args, err)
			}
		}
	}
	if typed < 10 {
		t.Errorf("%d commands with words were found", typed)
	}
}
