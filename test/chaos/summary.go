//go:build linux

package chaos

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/signalbox/signalbox/test/history"
)

// Summary summarizes a run.
type Summary struct {
	Acts       int
	Took       time.Duration
	Operations map[history.Kind]map[history.Outcome]int
	Sessions   map[history.End]int // how they ended
	Requests   map[history.RequestKind]map[history.Outcome]int
	Targets    int // shown to rollout instances
	Calls      int // of process handlers
	Exchanges  map[history.Outcome]int
	Holds      int
	Writes     int
	Views      int
	Faults     map[Kind]*FaultSum
	// Gap is the longest time without a completed operation, and GapIn the faults meanwhile.
	Gap   time.Duration
	GapIn string
	// Checked is the number of semaphores checked by the linear rule, Undecided the number not decided in time.
	Checked, Undecided int
	Started            int            // processes of hosts
	Errors             map[string]int // that hosts logged
	// Saved and Received are snapshots observed during save or transfer, and Loads host starts with a snapshot to load.
	Saved, Received, Loads int
	// Attempts are attempts to move slots, and Moved those after which another shard had the slot.
	Attempts, Moved int
	// Activities are the activities interrupted by kills, according to the disks. A kill may interrupt several.
	Activities map[Activity]int
	// Stalls are faults that were not injected and disturbed every client.
	Stalls map[string]*StallSum
}

// StallSum is how often something stood still, and for how long at the most.
type StallSum struct {
	Times   int
	Longest time.Duration
}

// FaultSum summarizes faults of a kind.
type FaultSum struct {
	Times   int
	Skipped int           // not possible at that time
	Gap     time.Duration // longest time without a completed operation during such a fault
}

func newSummary() *Summary {
	return &Summary{
		Operations: make(map[history.Kind]map[history.Outcome]int), Sessions: make(map[history.End]int),
		Requests: make(map[history.RequestKind]map[history.Outcome]int), Exchanges: make(map[history.Outcome]int),
		Faults: make(map[Kind]*FaultSum), Stalls: make(map[string]*StallSum),
	}
}

// add adds a history.
func (s *Summary) add(h *history.History) {
	s.Holds += len(h.Holds)
	s.Writes += len(h.Writes)
	s.Views += len(h.Views)
	semaphores := make(map[history.Semaphore]bool)
	for i := range h.Operations {
		o := &h.Operations[i]
		if s.Operations[o.Kind] == nil {
			s.Operations[o.Kind] = make(map[history.Outcome]int)
		}
		s.Operations[o.Kind][o.Outcome]++
		semaphores[o.Semaphore] = true
	}
	s.Checked += len(semaphores)
	s.Targets += len(h.Targets)
	s.Calls += len(h.Calls)
	for _, x := range h.Exchanges {
		s.Exchanges[x.Outcome]++
	}
	for i := range h.Requests {
		r := &h.Requests[i]
		if s.Requests[r.Kind] == nil {
			s.Requests[r.Kind] = make(map[history.Outcome]int)
		}
		s.Requests[r.Kind][r.Outcome]++
	}
	for i := range h.Sessions {
		s.Sessions[h.Sessions[i].End]++
	}
}

// addAct adds an act with programs that worked until stopped.
func (s *Summary) addAct(h *history.History, faults []pastFault, stopped history.Time) {
	s.add(h)
	s.Acts++
	for _, f := range faults {
		sum := s.Faults[f.Kind]
		if sum == nil {
			sum = &FaultSum{}
			s.Faults[f.Kind] = sum
		}
		if sum.Times++; f.skipped {
			sum.Skipped++
		}
	}
	s.addStalls(h)
	last := history.Time(-1)
	for i := range h.Operations { // sorted by return time
		o := &h.Operations[i]
		if o.Outcome != history.Done || o.Returned > stopped {
			continue
		}
		if last >= 0 {
			s.addGap(last, o.Returned, faults)
		}
		last = o.Returned
	}
}

// addStalls adds the faults that were not injected.
func (s *Summary) addStalls(h *history.History) {
	for _, f := range h.Faults {
		if f.What != machineBusy && f.What != diskBusy {
			continue
		}
		sum := s.Stalls[f.What]
		if sum == nil {
			sum = &StallSum{}
			s.Stalls[f.What] = sum
		}
		sum.Times++
		sum.Longest = max(sum.Longest, f.To-f.From)
	}
}

func (s *Summary) addGap(from, to history.Time, faults []pastFault) {
	gap := to - from
	longest := gap > s.Gap
	if longest {
		s.Gap, s.GapIn = gap, "nothing"
	}
	var in []string
	for _, f := range faults {
		if f.skipped || f.from > to || f.to < from {
			continue
		}
		sum := s.Faults[f.Kind]
		sum.Gap = max(sum.Gap, gap)
		in = append(in, string(f.Kind))
	}
	if longest && len(in) > 0 {
		s.GapIn = strings.Join(in, ", ")
	}
}

// addSnapshots adds observed snapshots.
func (s *Summary) addSnapshots(c *cluster) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, u := range c.seen {
		if u.received {
			s.Received++
		} else {
			s.Saved++
		}
	}
	s.Loads, s.Activities = c.loads, c.activities
	s.Attempts, s.Moved = c.attempts, c.moved
}

// Print writes the summary as tables.
func (s *Summary) Print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintf(w,
		"%d acts in %v, %d processes of hosts, %d holds, %d writes to guarded stores, %d views of watchers\n",
		s.Acts, s.Took.Round(time.Second), s.Started, s.Holds, s.Writes, s.Views)
	fmt.Fprintf(w, "%d rules on each act; orders of %d semaphores checked, %d of them undecided\n",
		Rules, s.Checked, s.Undecided)
	fmt.Fprintf(w, "longest time without an operation done: %v, during: %s\n\noperation\toutcomes\n",
		s.Gap.Round(time.Millisecond), s.GapIn)
	for _, kind := range slices.Sorted(maps.Keys(s.Operations)) {
		fmt.Fprintf(w, "%s\t%s\n", kind, counts(s.Operations[kind]))
	}
	for _, kind := range slices.Sorted(maps.Keys(s.Requests)) {
		fmt.Fprintf(w, "%s\t%s\n", kind, counts(s.Requests[kind]))
	}
	fmt.Fprintf(w, "targets\t%d shown to instances of rollouts\n", s.Targets)
	fmt.Fprintf(w, "calls\t%d of handlers of processes\nexchanges\t%s\n", s.Calls, counts(s.Exchanges))
	fmt.Fprintf(w, "sessions\t%s\n\nfault\ttimes\tnot possible\tlongest time without an operation done\n",
		counts(s.Sessions))
	for _, kind := range slices.Sorted(maps.Keys(s.Faults)) {
		f := s.Faults[kind]
		fmt.Fprintf(w, "%s\t%d\t%d\t%v\n", kind, f.Times-f.Skipped, f.Skipped, f.Gap.Round(time.Millisecond))
	}
	fmt.Fprintf(w, "\nsnapshots\t%d seen while they were saved, %d while they were received; ", s.Saved, s.Received)
	fmt.Fprintf(w, "%d starts of hosts had one to load\n", s.Loads)
	fmt.Fprintf(w, "interrupted by kills\t%s\n", cmp.Or(counts(s.Activities), "none"))
	if s.Attempts > 0 {
		fmt.Fprintf(w, "moves\t%d attempts, %d slots got another shard\n", s.Attempts, s.Moved)
	}
	for _, what := range slices.Sorted(maps.Keys(s.Stalls)) {
		x := s.Stalls[what]
		fmt.Fprintf(w, "%s\t%d times, for %v at the most\n", what, x.Times, x.Longest.Round(time.Millisecond))
	}
	for _, text := range slices.Sorted(maps.Keys(s.Errors)) {
		fmt.Fprintf(w, "%d times a host logged as an error: %s\n", s.Errors[text], text)
	}
}

// counts writes numbers and their names, the largest number first.
func counts[K ~string](m map[K]int) string {
	keys := slices.SortedFunc(maps.Keys(m), func(a, b K) int {
		return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b))
	})
	var list []string
	for _, k := range keys {
		name := string(k)
		if name == "" {
			name = "not ended"
		}
		list = append(list, fmt.Sprintf("%d %s", m[k], name))
	}
	return strings.Join(list, ", ")
}
