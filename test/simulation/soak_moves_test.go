package simulation_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/test/engine"
	"github.com/signalbox/signalbox/test/simulation"
)

var (
	tally = flag.String("tally", "", "the file of soaks of worlds with moves: TestSoakMoves plays on from there")
	build = flag.String("build", "", "the commit that TestSoakMoves notes")
)

// TestSoakMoves plays worlds with moves from the first seed that no soak in the file of -tally has played, and appends
// a line to the file, also if a world fails. docs/testing.md describes the line.
func TestSoakMoves(t *testing.T) {
	if *tally == "" {
		t.Skip("goes on with the soaks in the file of -tally")
	}
	log := "memory"
	if *onEngine {
		log = "production"
	}
	text, err := os.ReadFile(*tally)
	if err != nil {
		t.Fatal(err)
	}
	first, err := nextSeed(text, log)
	if err != nil {
		t.Fatal(err)
	}
	last, moved, failed := first-1, 0, []string(nil)
	s := engine.Soak{For: *soak, Parallel: runtime.GOMAXPROCS(0), First: first,
		World: func(seed uint64) (fmt.Stringer, []string) {
			return simulation.DrawMoves(seed), []string{"-test.run=^TestWorld$", "-moves", "-again=1",
				fmt.Sprint("-seed=", seed), fmt.Sprint("-engine=", *onEngine), "-keep=" + *keep}
		},
		Played: func(seed uint64, out []byte, err error) {
			last = max(last, seed)
			if err != nil {
				failed = append(failed, fmt.Sprint(seed))
			}
			moved += movesIn(out)
		},
	}
	s.Run(t)
	if last < first {
		return
	}
	result := "passed"
	if failed != nil {
		result = "failed:" + strings.Join(failed, ",")
	}
	line := fmt.Sprintf("%s %s %s %d-%d %d %s\n", time.Now().UTC().Format(time.DateOnly), *build, log, first, last,
		moved, result)
	f, err := os.OpenFile(*tally, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(line); err != nil {
		t.Error(err)
	}
	fmt.Print(line)
}

// nextSeed returns the first seed that no soak on a log has played.
func nextSeed(tally []byte, log string) (uint64, error) {
	next := uint64(1)
	for line := range bytes.Lines(tally) {
		fields := strings.Fields(string(line))
		if len(fields) != 6 {
			return 0, fmt.Errorf("a soak with %d fields: %q", len(fields), line)
		}
		_, to, _ := strings.Cut(fields[3], "-")
		last, err := strconv.ParseUint(to, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("a soak without seeds: %q", line)
		}
		if fields[2] == log {
			next = max(next, last+1)
		}
	}
	return next, nil
}

var slotsMoved = regexp.MustCompile(`(\d+) slots moved`)

// movesIn returns the number of moves in a world's output.
func movesIn(out []byte) (moved int) {
	if m := slotsMoved.FindSubmatch(out); m != nil {
		moved, _ = strconv.Atoi(string(m[1]))
	}
	return moved
}

// TestTheTallyOfSoaksCanBeRead reads the file in the repository.
func TestTheTallyOfSoaksCanBeRead(t *testing.T) {
	text, err := os.ReadFile("soak-moves.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, log := range []string{"memory", "production"} {
		next, err := nextSeed(text, log)
		if err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf("2026-11-30 0123abcd %s %d-%d 12 passed\n", log, next, next+6)
		if then, err := nextSeed(append(text, line...), log); then != next+7 || err != nil {
			t.Errorf("after %q the next seed is %d: %v", line, then, err)
		}
		if _, err := nextSeed(append(text, "1-7 12\n"...), log); err == nil {
			t.Error("a line without its fields is read")
		}
	}
	if got := movesIn([]byte((&totals{}).String())); got != 0 {
		t.Errorf("%d moves in a world without", got)
	}
	sum := &totals{}
	sum.moved.Add(71)
	if got := movesIn([]byte(sum.String())); got != 71 {
		t.Errorf("%d moves, not 71", got)
	}
}
