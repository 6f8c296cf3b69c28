//go:build linux

package chaos

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/test/clienttest"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/workload"
)

// driverVariable turns the test binary into the Go client's driver.
const driverVariable = "SIGNALBOX_CHAOS_DRIVER"

// pythonPackage and typescriptPackage are where the clients in Python and TypeScript are.
const (
	pythonPackage     = "../../sdk/python"
	typescriptPackage = "../../sdk/typescript"
)

// driverOf returns a driver by name.
func driverOf(t *testing.T, name string) Driver {
	t.Helper()
	switch name {
	case "go":
		return Driver{Name: name, Args: []string{os.Args[0]}, Env: []string{driverVariable + "=1"}}
	case "python":
		return pythonDriver(t, pythonPackage+"/src")
	case "typescript":
		return typescriptDriver(t, typescriptPackage+"/build")
	}
	t.Fatalf("there is no driver %q", name)
	return Driver{}
}

// pythonDriver is the driver of the Python client in a source directory. It skips the test if no suitable Python is
// installed.
func pythonDriver(t *testing.T, source string) Driver {
	t.Helper()
	python := cmp.Or(os.Getenv("PYTHON"), "/usr/bin/python3")
	if out, err := exec.Command(python, "-c", "import sys; assert sys.version_info >= (3, 11), sys.version").
		CombinedOutput(); err != nil {
		t.Skipf("the client in Python does not take part: %s: %v: %s", python, err, out)
	}
	driver, err := filepath.Abs(pythonPackage + "/tests/driver.py")
	clienttest.Check(t, err)
	source, err = filepath.Abs(source)
	clienttest.Check(t, err)
	return Driver{
		Name: "python", Args: []string{python, driver},
		Env: []string{"PYTHONPATH=" + source, "PYTHONDONTWRITEBYTECODE=1"},
	}
}

// typescriptDriver is the driver of the client in TypeScript that is compiled in a directory. The test is skipped if
// `make typescript` has not compiled it and installed Node.
func typescriptDriver(t *testing.T, build string) Driver {
	t.Helper()
	nodes, err := filepath.Glob(typescriptPackage + "/nodes/node_modules/node-*/bin/node")
	clienttest.Check(t, err)
	if node := os.Getenv("NODE"); node != "" {
		nodes = append(nodes, node)
	}
	driver, err := filepath.Abs(build + "/test/driver.js")
	clienttest.Check(t, err)
	if _, err := os.Stat(driver); err != nil || len(nodes) == 0 {
		t.Skip("the client in TypeScript does not take part: `make typescript` compiles it and installs Node")
	}
	node, err := filepath.Abs(nodes[len(nodes)-1])
	clienttest.Check(t, err)
	return Driver{Name: "typescript", Args: []string{node, driver}}
}

// TestClientsOfOtherLanguagesKeepTheRules has clients behind drivers take part beside the Go client: Go's, to try the
// rig, Python's and TypeScript's. Their processes are stopped for longer than a lease lasts, killed, cut off and
// delayed.
func TestClientsOfOtherLanguagesKeepTheRules(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	drivers := []Driver{driverOf(t, "go")}
	for _, language := range []string{"python", "typescript"} {
		t.Run("the driver of "+language, func(t *testing.T) { // skipped if the machine lacks the language
			drivers = append(drivers, driverOf(t, language))
		})
	}
	playDriven(t, drivers)
}

// playDriven plays an act with drivers, and looks whether their clients did something: up to four times, on a machine
// with much else to do.
func playDriven(t *testing.T, drivers []Driver) {
	t.Helper()
	var faults []Fault
	for i := range drivers {
		faults = append(faults,
			Fault{Kind: PauseClient, At: 2 * time.Second, For: longestLease, Client: driven(i)},
			Fault{Kind: KillClient, At: 11500 * time.Millisecond, For: 500 * time.Millisecond, Client: driven(i)},
			Fault{Kind: ResetClient, At: 13 * time.Second, Client: driven(i)},
			Fault{Kind: ApartOneWay, At: 13500 * time.Millisecond, For: 2 * time.Second, Client: driven(i)})
	}
	acts := fixed(t, 17*time.Second, append(faults, Fault{Kind: KillLeader, At: time.Second, For: time.Second})...)
	done := make([]map[string]int, len(drivers))
	for range 4 {
		report(t, play(t, Config{Acts: acts, Drivers: drivers, OnHistory: func(h *history.History) {
			for i := range drivers {
				done[i] = didAtLeast(done[i], h, driven(i))
				t.Logf("of the client behind %s there are missing %v", drivers[i].Name, done[i])
			}
		}}))
		if t.Failed() || !slices.ContainsFunc(done, func(missing map[string]int) bool { return len(missing) > 0 }) {
			return
		}
	}
	t.Errorf("clients behind drivers did too little; there are missing %v", done)
}

// driven is the number of a client behind a driver.
func driven(i int) int { return resident + 1 + i }

// didAtLeast subtracts a driven client's work from the missing work.
func didAtLeast(missing map[string]int, h *history.History, number int) map[string]int {
	if missing == nil {
		missing = map[string]int{
			"acquires that were granted": 8, "sessions that a pause or a kill ended": 1, "holds": 8,
			"writes by believers": 1, "views": 20, "sessions": 6,
		}
	}
	mine := make(map[uint64]bool)
	for _, s := range h.Sessions {
		if s.Client != number {
			continue
		}
		mine[s.ID] = true
		missing["sessions"]--
		if s.End == history.Silent || s.Detail == "its process died" {
			missing["sessions that a pause or a kill ended"]--
		}
	}
	orders := make(map[uint64]bool)
	for _, o := range h.Operations {
		if mine[o.Session] && o.Kind == history.Acquire && o.Outcome == history.Done {
			missing["acquires that were granted"]--
			orders[o.Order] = true
		}
	}
	for _, x := range h.Holds {
		if mine[x.Session] && x.To > x.From {
			missing["holds"]--
		}
	}
	for _, w := range h.Writes {
		if orders[w.Order] && w.Believed {
			missing["writes by believers"]--
		}
	}
	for _, v := range h.Views {
		if v.Watcher/1000 == number+1 {
			missing["views"]--
		}
	}
	maps.DeleteFunc(missing, func(_ string, least int) bool { return least <= 0 })
	return missing
}

// TestADriverMayBeKilledBeforeItConnects: a killed driver without a hello is no client error, because a busy machine
// starts drivers late. A driver that exits by itself is noted.
func TestADriverMayBeKilledBeforeItConnects(t *testing.T) {
	epoch := machineTime()
	for _, x := range []struct {
		args   []string
		killed bool
	}{{[]string{"sleep", "600"}, true}, {[]string{"true"}, false}} {
		record := history.NewRecorder(t.Name(), history.NewClock(since(epoch)))
		a := Assignment{Client: driven(0), Epoch: epoch, Node: "/", Timeouts: []time.Duration{time.Second}}
		w, err := startDriven(Driver{Name: "silent", Args: x.args}, a, record, t.TempDir())
		clienttest.Check(t, err)
		late := time.Now().Add(10 * time.Second)
		for !x.killed && len(record.History().Notes) == 0 && time.Now().Before(late) {
			time.Sleep(pollPause)
		}
		w.kill()
		if notes := record.History().Notes; (len(notes) == 0) != x.killed {
			t.Errorf("%v, killed %v: %v", x.args, x.killed, notes)
		}
	}
}

// mistake is a bug planted in a driven client, and the faults that expose it.
type mistake struct {
	clienttest.Bug
	language string
	faults   []Fault
	// rules are those of which one has to be broken: what the mistake does to others is for the moment to say.
	rules []string
	// greedy: its programs hold much, for long.
	greedy bool
	long   bool
}

// greedy is the profile of programs with long holds.
var greedy = workload.Profile{
	Targets: targets, Odds: workload.Odds{Of: 100, Acquire: 80, Use: 10},
	Work:     func(random *rand.Rand, _ time.Duration) time.Duration { return time.Second },
	Timeouts: []time.Duration{200 * time.Millisecond, time.Second}, LongWait: time.Second,
	ResolveTimeout: 10 * time.Second, Retry: 200 * time.Millisecond,
}

// mistakes are those of the clients in Python and TypeScript.
func mistakes() []mistake {
	const client = resident + 1
	// apart disconnects the client from all hosts; in one direction, if only answers are to be lost.
	apart := func(kind Kind, at, length time.Duration) (list []Fault) {
		for _, order := range [][]int{{0, 1, 2}, {1, 2, 0}, {2, 0, 1}} {
			list = append(list, Fault{Kind: kind, At: at, For: length, Client: client, Order: order, Amount: 1})
		}
		return list
	}
	// The client is stalled while its leases end, and cannot reach a host when it continues.
	paused := append(apart(Apart, 3*time.Second, 10*time.Second),
		Fault{Kind: PauseClient, At: 3500 * time.Millisecond, For: 8 * time.Second, Client: client})
	// Ping answers are late, right before the client is disconnected for longer than its leases last. A longer delay
	// would hide the mistake: after half a second without answers, clients send another ping.
	var late []Fault
	for at := 2 * time.Second; at < 44*time.Second; at += 4500 * time.Millisecond {
		late = append(append(late, apart(ApartOneWay, at, 450*time.Millisecond)...),
			apart(Apart, at+470*time.Millisecond, 2800*time.Millisecond)...)
	}
	// Answers are lost with their connections, again and again.
	var broken []Fault
	for at := 2 * time.Second; at < 24*time.Second; at += 1200 * time.Millisecond {
		broken = append(append(broken, apart(ApartOneWay, at, 300*time.Millisecond)...),
			Fault{Kind: ResetClient, At: at + 250*time.Millisecond, Client: client})
	}
	return []mistake{
		{
			clienttest.Bug{
				Name: "a pause is not noticed", File: "_attachment.py",
				Is: "if self.timeout > 0 and _clock.now() >= self.deadline():", Becomes: "if False:",
			},
			"python", paused, []string{"holders", "writes"}, true, false,
		},
		{
			clienttest.Bug{
				Name: "a mutation is sent again under a new sequence", File: "_mutation.py",
				Is:      "self.phase, self.error, self.doubt = BROKEN, error, True",
				Becomes: "self.phase, self.error, self.doubt, self.sequence = BROKEN, error, True, 0",
			},
			"python", broken, changesTwice, false, true,
		},
		{
			clienttest.Bug{
				Name: "a pause is not noticed in TypeScript", File: "engine/attachment.js",
				Is: "this.base + this.timeout - margin(this.timeout) : Infinity", Becomes: "Infinity : Infinity",
			},
			"typescript", paused, []string{"holders", "writes"}, true, false,
		},
		{
			clienttest.Bug{
				Name: "a lease counts from the answer in TypeScript", File: "engine/heartbeat.js",
				Is: "session.confirm(conn, sent)", Becomes: "session.confirm(conn, now())",
			},
			"typescript", late, []string{"holders", "writes"}, true, true,
		},
		{
			clienttest.Bug{
				Name: "a mutation is sent again under a new sequence in TypeScript", File: "engine/mutation.js",
				Is: `this.phase = "broken";`, Becomes: `this.phase = "broken"; this.sequence = 0;`,
			},
			"typescript", broken, changesTwice, false, true,
		},
	}
}

// changesTwice are the rules that a client breaks whose changes take effect twice.
var changesTwice = []string{"notes", "once", "linear", "revisions", "numbers", "finals", "states"}

// TestMistakesHaveAPlace notices a source that no longer has the text of a mistake. Runs with all mistakes are rare.
func TestMistakesHaveAPlace(t *testing.T) {
	for _, m := range mistakes() {
		folder := pythonPackage + "/src/signalbox"
		if m.language == "typescript" {
			folder = typescriptPackage + "/src"
			m.File = strings.TrimSuffix(m.File, ".js") + ".ts"
		}
		text, err := os.ReadFile(filepath.Join(folder, m.File))
		clienttest.Check(t, err)
		if n := strings.Count(string(text), m.Is); n != 1 {
			t.Errorf("%s: %s has the text %d times", m.Name, m.File, n)
		}
	}
}

// plantIn copies the client of a language, plants a mistake in the copy, and returns the copy's driver.
func plantIn(t *testing.T, m mistake) Driver {
	t.Helper()
	folder := t.TempDir()
	source := filepath.Join(folder, "client")
	planted := filepath.Join(source, "signalbox", m.File)
	var d Driver
	if m.language == "typescript" {
		driverOf(t, m.language) // skips the test if there is none
		clienttest.Check(t, os.CopyFS(source, os.DirFS(typescriptPackage+"/build")))
		manifest, err := os.ReadFile(typescriptPackage + "/package.json")
		clienttest.Check(t, err)
		clienttest.Check(t, os.WriteFile(filepath.Join(folder, "package.json"), manifest, 0o600))
		d, planted = typescriptDriver(t, source), filepath.Join(source, "src", m.File)
	} else {
		clienttest.Check(t, os.CopyFS(source, os.DirFS(pythonPackage+"/src")))
		d = pythonDriver(t, source)
	}
	text, err := os.ReadFile(planted)
	clienttest.Check(t, err)
	if n := strings.Count(string(text), m.Is); n != 1 {
		t.Fatalf("%s has %d places for the mistake", m.File, n)
	}
	clienttest.Check(t, os.WriteFile(planted, []byte(strings.Replace(string(text), m.Is, m.Becomes, 1)), 0o600))
	return d
}

// TestMistakesInAClientOfAnotherLanguageAreFound plants mistakes in the clients in Python and TypeScript, which the
// rules have to find.
func TestMistakesInAClientOfAnotherLanguageAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("needs clusters for some seconds")
	}
	for _, m := range mistakes() {
		if m.long && !*clienttest.AllBugs {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			d := plantIn(t, m)
			length := calmTime
			for _, f := range m.faults {
				length = max(length, f.At+f.For+calmTime)
			}
			var r *Result
			noticed := func() bool {
				return slices.ContainsFunc(r.Found, func(f history.Finding) bool {
					return slices.Contains(m.rules, f.Rule)
				})
			}
			for range 4 { // side effects of other clients and of a busy machine are random
				r = play(t, Config{
					Acts: fixed(t, length, m.faults...), Drivers: []Driver{d}, finalTimeout: 3 * time.Second,
					assign: func(a *Assignment) {
						if m.greedy {
							a.Profile, a.Think = &greedy, 5*time.Millisecond
							a.Timeouts = slices.Repeat([]time.Duration{2 * time.Second}, 5)
						}
					},
				})
				for _, f := range r.Found {
					t.Log(f)
				}
				if noticed() {
					break
				}
			}
			if !noticed() {
				t.Fatalf("nothing that was found is of the rules %v: %v", m.rules, r.Found)
			}
			_ = os.RemoveAll(filepath.Dir(r.History))
		})
	}
}
