package subprocess

import (
	"bytes"
	"sync"
)

// keptOutput is how much of what a process writes is kept at the most.
const keptOutput = 1 << 20

// output gathers the last of what a process writes.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed when there is more; nil where no goroutine waits for that
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.text.Len() > keptOutput {
		o.text.Next(keptOutput / 2)
	}
	if o.changed != nil {
		close(o.changed)
		o.changed = nil
	}
	return o.text.Write(b)
}

// more returns what is closed when more is written than there is now.
func (o *output) more() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.changed == nil {
		o.changed = make(chan struct{})
	}
	return o.changed
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
