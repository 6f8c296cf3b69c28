package subprocess

import (
	"bytes"
	"sync"
)

// keptOutput is the maximum size of stored process output.
const keptOutput = 1 << 20

// output stores the end of a process's output.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed when there is more; nil if no goroutine waits for more
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

// more returns a channel closed at the next write.
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
