package loadgen

import (
	"time"

	"github.com/signalbox/signalbox/loadgen/report"
)

// stages are the parts of an operation of a workload, such as its acquire and its release, or the operations of a
// mix. A stage has separate times, from the beginning of the stage to its end, whenever the whole operation was due.
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

// begin forgets all records. No operation runs meanwhile.
func (s *stages) begin() {
	s.records = make([]recorders, len(s.names))
	for i := range s.records {
		s.records[i] = newRecorders(s.callers)
	}
}

// since records that a caller has done a stage, and returns the present, as the beginning of the next stage.
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

// report adds the times of the recorded stages.
func (s *stages) report(to *report.Report) {
	to.StagesUS = make(map[string]*report.Quantiles, len(s.names))
	for i, name := range s.names {
		times, _ := s.records[i].sum()
		if q := quantiles(&times, time.Microsecond); q != nil {
			to.StagesUS[name] = q
		}
	}
}
