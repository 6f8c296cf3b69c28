package process

import (
	"bytes"
	"sync"
)

// keptOutput is how much of what a process writes is kept at the most.
const keptOutput = 1 << 20

// output gathers the last of what a process writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.text.Len() > keptOutput {
		o.text.Reset()
	}
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
