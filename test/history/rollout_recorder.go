package history

import (
	"cmp"
	"slices"
)

// Joined: a client's instance has joined a rollout with a session.
type Joined struct {
	Rollout Rollout `json:"rollout"`
	Participant
}

// rolloutRecord is a Recorder's data about rollouts, guarded by the Recorder's lock.
type rolloutRecord struct {
	requests map[entryKey]Request
	joined   map[joinedKey]Participant
	targets  []Target
	finals   []RolloutFinal
}

// joinedKey identifies a client's instance.
type joinedKey struct {
	rollout        Rollout
	client, member int
}

func newRolloutRecord() rolloutRecord {
	return rolloutRecord{requests: make(map[entryKey]Request), joined: make(map[joinedKey]Participant)}
}

// add records an entry.
func (r *rolloutRecord) add(k entryKey, e *Entry) {
	switch {
	case e.Request != nil:
		r.requests[k] = *e.Request
	case e.Target != nil:
		e.Target.Client = e.Client
		r.targets = append(r.targets, *e.Target)
	case e.Joined != nil:
		key := joinedKey{e.Joined.Rollout, e.Client, e.Joined.Member}
		if e.Joined.Session == 0 {
			delete(r.joined, key)
			return
		}
		e.Joined.Client = e.Client
		r.joined[key] = e.Joined.Participant
	}
}

// clientDied ends a client's beliefs.
func (r *rolloutRecord) clientDied(client int) {
	for k := range r.joined {
		if k.client == client {
			delete(r.joined, k)
		}
	}
}

// addTo adds the records to a history, in order.
func (r *rolloutRecord) addTo(h *History, now Time) {
	for _, x := range r.requests {
		if x.Outcome == "" {
			x.Outcome, x.Error, x.Returned = Unknown, neverReported, now
		}
		h.Requests = append(h.Requests, x)
	}
	slices.SortFunc(h.Requests, func(a, b Request) int {
		return cmp.Or(cmp.Compare(a.Returned, b.Returned), cmp.Compare(a.Called, b.Called))
	})
	h.Targets, h.Rollouts = slices.Clone(r.targets), r.finals
	slices.SortStableFunc(h.Targets, func(a, b Target) int { return cmp.Compare(a.At, b.At) })
}

// Request records a request by the test itself, returned just now. Called must be set.
func (r *Recorder) Request(x Request) {
	x.Returned = r.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastOwn++
	r.rollouts.requests[entryKey{own, r.lastOwn}] = x
}

// Rollout records a rollout's final state, with the instances that clients believe in now. It replaces an earlier
// record for the rollout.
func (r *Recorder) Rollout(f RolloutFinal) {
	f.At = r.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, p := range r.rollouts.joined {
		if k.rollout == f.Rollout {
			f.Participants = append(f.Participants, p)
		}
	}
	slices.SortFunc(f.Participants, func(a, b Participant) int {
		return cmp.Or(cmp.Compare(a.Client, b.Client), cmp.Compare(a.Member, b.Member))
	})
	same := func(x RolloutFinal) bool { return x.Rollout == f.Rollout }
	r.rollouts.finals = slices.DeleteFunc(r.rollouts.finals, same)
	r.rollouts.finals = append(r.rollouts.finals, f)
}

// NotConverged returns differences between a rollout's last recorded state and the required final state.
func (r *Recorder) NotConverged(of Rollout) (found findings) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := &History{Targets: r.rollouts.targets}
	for _, f := range r.rollouts.finals {
		if f.Rollout == of {
			h.Rollouts = append(h.Rollouts, f)
		}
	}
	return Converged(h)
}
