package clock

// Alarms are things with times, at most one time for each thing. The thing with the first time is found at once;
// setting or clearing an alarm takes the logarithm of their number. The content follows from the calls alone, so
// replicas that make the same calls agree.
type Alarms[K comparable] struct {
	// Before orders two things with alarms for the same time. The function may be replaced by a function that gives
	// the same order.
	Before func(a, b K) bool

	heap   []alarm[K]
	places map[K]int // in the heap
}

type alarm[K comparable] struct {
	at  uint64
	key K
}

// Len returns the number of alarms.
func (a *Alarms[K]) Len() int { return len(a.heap) }

// First returns the thing with the first alarm; ok is false without alarms.
func (a *Alarms[K]) First() (key K, at uint64, ok bool) {
	if len(a.heap) == 0 {
		return key, 0, false
	}
	return a.heap[0].key, a.heap[0].at, true
}

// At returns the time of a thing's alarm, or 0.
func (a *Alarms[K]) At(key K) uint64 {
	if i, ok := a.places[key]; ok {
		return a.heap[i].at
	}
	return 0
}

// Set replaces the alarm of a thing. Zero removes the alarm.
func (a *Alarms[K]) Set(key K, at uint64) {
	i, ok := a.places[key]
	switch {
	case ok && at == 0:
		last := len(a.heap) - 1
		moved := a.heap[last]
		a.heap[last] = alarm[K]{}
		a.heap = a.heap[:last]
		delete(a.places, key)
		if i < last {
			a.put(i, moved)
			a.fix(i)
		}
	case ok:
		a.heap[i].at = at
		a.fix(i)
	case at != 0:
		if a.places == nil {
			a.places = make(map[K]int)
		}
		a.heap = append(a.heap, alarm[K]{})
		a.put(len(a.heap)-1, alarm[K]{at, key})
		a.fix(len(a.heap) - 1)
	}
}

// fix moves the alarm of a place up or down until the heap is in order.
func (a *Alarms[K]) fix(i int) {
	for i > 0 && a.less(i, (i-1)/2) {
		a.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(a.heap); child++ {
			if a.less(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		a.swap(i, least)
		i = least
	}
}

func (a *Alarms[K]) less(i, j int) bool {
	x, y := &a.heap[i], &a.heap[j]
	return x.at < y.at || x.at == y.at && a.Before(x.key, y.key)
}

func (a *Alarms[K]) swap(i, j int) {
	x, y := a.heap[i], a.heap[j]
	a.put(i, y)
	a.put(j, x)
}

func (a *Alarms[K]) put(i int, x alarm[K]) {
	a.heap[i] = x
	a.places[x.key] = i
}
