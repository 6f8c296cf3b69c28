package plan

import (
	"cmp"
	"math"
	"slices"
)

// Backoff is what a plan remembers of a subject that failed, or whose step was cancelled, while no step of it is open.
type Backoff struct {
	Subject   Subject
	Failures  uint32 // since its last success
	LastError string
	// Since is the shard time at which its last step ended, Until the one before which no step of it begins.
	Since, Until uint64
}

// delay is the back-off after so many failures. It depends on nothing else, so every replica has the same.
func (c *Config[P]) delay(failures uint32) uint64 {
	doublings := failures - 1
	if c.Delay > c.MaxDelay>>doublings {
		return c.MaxDelay
	}
	return c.Delay << doublings
}

// after returns the shard time at which a delay that begins now is over. Shard time is cut to milliseconds: one more
// makes sure that no delay is shorter than asked.
func after(now, delay uint64) uint64 {
	if delay >= math.MaxUint64-now {
		return math.MaxUint64
	}
	return now + delay + 1
}

// Backoff returns what is remembered of a subject that has no open step, nil where that is nothing.
func (p *Plan[P]) Backoff(subject Subject) *Backoff {
	if i, found := p.backoffOf(subject); found {
		return &p.backoffs[i]
	}
	return nil
}

// Backoffs are the subjects that failed and have no open step, by name. They are the plan's own: to be read, until the
// next act.
func (p *Plan[P]) Backoffs() []Backoff { return p.backoffs }

// Forget drops what is remembered of a subject, by order of an operator: it need not wait any longer. A step of it that
// is open and waits goes on at once.
func (p *Plan[P]) Forget(subject Subject) Outcome {
	for i := range p.steps {
		if s := &p.steps[i]; s.Subject == subject && s.NotBefore > 0 {
			s.NotBefore = 0
			p.revision++
			return Applied
		}
	}
	if p.Backoff(subject) == nil {
		return Unknown
	}
	p.takeBackoff(subject)
	p.revision++
	return Applied
}

func (p *Plan[P]) backoffOf(subject Subject) (int, bool) {
	return slices.BinarySearchFunc(p.backoffs, subject, func(b Backoff, s Subject) int {
		return cmp.Compare(b.Subject, s)
	})
}

// takeBackoff removes what is remembered of a subject and returns it, all zero where that is nothing.
func (p *Plan[P]) takeBackoff(subject Subject) Backoff {
	i, found := p.backoffOf(subject)
	if !found {
		return Backoff{}
	}
	b := p.backoffs[i]
	p.backoffs = slices.Delete(p.backoffs, i, i+1)
	return b
}

// putBackoff remembers a subject of which nothing is remembered. Where there is no room, the subject whose delay ends
// first is forgotten.
func (p *Plan[P]) putBackoff(b Backoff) {
	i, found := p.backoffOf(b.Subject)
	if found {
		panic("plan: the failures of subject " + string(b.Subject) + " are there twice")
	}
	p.backoffs = slices.Insert(p.backoffs, i, b)
	if len(p.backoffs) <= MaxBackoffs {
		return
	}
	first := 0
	for i := range p.backoffs {
		if p.backoffs[i].Until < p.backoffs[first].Until {
			first = i
		}
	}
	p.backoffs = slices.Delete(p.backoffs, first, first+1)
}
