package loadgen

import (
	"time"

	"github.com/signalbox/signalbox/loadgen/report"
)

// stages are the parts in a workload's operation, such as its acquire and release, or the operations in a mix. A
// stage's time is measured from its own beginning to its end, independently of when the whole operation was due.
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

// begin clears all records. No operation runs meanwhile.
func (s *stages) begin() {
	s.records = make([]recorders, len(s.names))
	for i := range s.records {
		s.records[i] = newRecorders(s.callers)
	}
}

// since records that a caller has completed a stage, and returns the current time, as the beginning of the next
// stage.
func (s *stages) since(began time.Time, caller, stage int) time.Time {
	now := time.Now()
	s.records[stage].of(caller).record(now.Sub(began), nil)
	return now
}

// count returns how many times a stage was completed.
func (s *stages) count(stage int) int64 {
	done, _ := s.records[stage].counts()
	return done
}

// report adds the recorded stages' times.
func (s *stages) report(to *report.Report) {
	to.StagesUS = make(map[string]*report.Quantiles, len(s.names))
	for i, name := range s.names {
		times, _ := s.records[i].sum()
		if q := quantiles(&times, time.Microsecond); q != nil {
			to.StagesUS[name] = q
		}
	}
}
