package loadgen

import (
	"time"

	"github.com/signalbox/signalbox/loadgen/report"
)

// stages are the parts of what a workload counts as one operation, such as its acquire and its release, or the
// operations of a mix. Each has its own times, from its own beginning to its end, whenever the whole was due.
type stages struct {
	callers int
	names   []string
	records []recorders // by stage
}

func newStages(callers int, names ...string) *stages {
	s := &stages{callers: callers, names: names}
	s.begin()
	return s
}

// begin forgets what was recorded. No operation runs meanwhile.
func (s *stages) begin() {
	s.records = make([]recorders, len(s.names))
	for i := range s.records {
		s.records[i] = newRecorders(s.callers)
	}
}

// since records that a caller has done a stage, and returns the present, at which the next one begins.
func (s *stages) since(began time.Time, caller, stage int) time.Time {
	now := time.Now()
	s.records[stage].of(caller).record(now.Sub(began), nil)
	return now
}

// count is how often a stage was done.
func (s *stages) count(stage int) int64 {
	done, _ := s.records[stage].counts()
	return done
}

// report adds the times of the stages that were done.
func (s *stages) report(to *report.Report) {
	to.StagesUS = make(map[string]*report.Quantiles, len(s.names))
	for i, name := range s.names {
		times, _ := s.records[i].sum()
		if q := quantiles(&times, time.Microsecond); q != nil {
			to.StagesUS[name] = q
		}
	}
}
