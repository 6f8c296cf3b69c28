package plan

import (
	"cmp"
	"math"
	"slices"
)

// Backoff is a plan's memory of a subject with a failed or cancelled step, while the subject has no open step.
type Backoff struct {
	Subject   Subject
	Failures  uint32 // since the last success
	LastError string
	// Since is the shard time at which the subject's last step ended. No step on the subject begins before Until.
	Since, Until uint64
}

// delay is the back-off after a number of failures, equal on every replica because only the number matters.
func (c *Config[P]) delay(failures uint32) uint64 {
	doublings := failures - 1
	if c.Delay > c.MaxDelay>>doublings {
		return c.MaxDelay
	}
	return c.Delay << doublings
}

// after returns the end of a delay that begins now, in shard time. Shard time is truncated to milliseconds; because of
// one extra millisecond, delays are never shorter than requested.
func after(now, delay uint64) uint64 {
	if delay >= math.MaxUint64-now {
		return math.MaxUint64
	}
	return now + delay + 1
}

// Backoff returns the back-off for a subject without an open step, or nil.
func (p *Plan[P]) Backoff(subject Subject) *Backoff {
	if i, found := p.backoffOf(subject); found {
		return &p.backoffs[i]
	}
	return nil
}

// Backoffs are the subjects with failures and without an open step, by name. The list belongs to the plan: callers may
// read the list until the next act.
func (p *Plan[P]) Backoffs() []Backoff { return p.backoffs }

// Forget ends a subject's delay by an operator's order. A back-off is removed with its failures; a waiting open step
// continues at once.
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

// takeBackoff removes and returns a subject's back-off, all zero if absent.
func (p *Plan[P]) takeBackoff(subject Subject) Backoff {
	i, found := p.backoffOf(subject)
	if !found {
		return Backoff{}
	}
	b := p.backoffs[i]
	p.backoffs = slices.Delete(p.backoffs, i, i+1)
	return b
}

// putBackoff adds a back-off for a subject without a back-off. If the list is full, the subject with the earliest end
// is forgotten.
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
