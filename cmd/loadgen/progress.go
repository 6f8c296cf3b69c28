package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/signalbox/signalbox/loadgen"
)

// progress is one line of a terminal that is written again and again.
type progress struct {
	out io.Writer

	mu    sync.Mutex // guards what follows
	width int        // of the line that is there
}

func newProgress(out io.Writer) *progress { return &progress{out: out} }

func (p *progress) show(x loadgen.Progress) {
	line := x.Step
	if x.Duration > 0 {
		line = fmt.Sprintf("%v of %v: %d operations, %.0f a second",
			x.Elapsed.Round(time.Second), x.Duration, x.Operations, x.PerSecond)
		if x.Errors > 0 {
			line += fmt.Sprintf(", %d errors", x.Errors)
		}
	}
	p.write(line)
}

func (p *progress) clear() { p.write("") }

func (p *progress) write(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pad := strings.Repeat(" ", max(p.width-len(line), 0))
	fmt.Fprintf(p.out, "\r%s%s\r%s", line, pad, line)
	p.width = len(line)
}
