package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/signalbox/signalbox/loadgen"
)

const (
	// turnEvery is the interval at which the line is redrawn, so that the program is visibly active.
	turnEvery = 250 * time.Millisecond
	// barWidth is the bar's width in characters.
	barWidth = 20
	// lineWidth is the maximum line width: narrow enough for any terminal to show without wrapping.
	lineWidth = 79
)

// turns are the spinner characters at the start of the line.
const turns = `|/-\`

// progress is a terminal line that is redrawn repeatedly. The caller ends the line with clear.
type progress struct {
	out  io.Writer
	over chan struct{}
	done sync.WaitGroup

	mu    sync.Mutex // guards the next fields
	last  loadgen.Progress
	since time.Time // when last was set; zero before the first call
	turn  int
	width int // width of the line on the terminal
}

// newProgress returns a progress without a line, and starts the goroutine that redraws the line until clear.
func newProgress(out io.Writer) *progress {
	p := &progress{out: out, over: make(chan struct{})}
	p.done.Go(func() {
		again := time.NewTicker(turnEvery)
		defer again.Stop()
		for {
			select {
			case <-again.C:
				p.mu.Lock()
				p.turn++
				p.draw()
				p.mu.Unlock()
			case <-p.over:
				return
			}
		}
	})
	return p
}

// show sets new progress.
func (p *progress) show(x loadgen.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.since = x, time.Now()
	p.draw()
}

// clear ends and erases the line.
func (p *progress) clear() {
	close(p.over)
	p.done.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.write("")
}

// draw writes the line for the current time: time passes between two calls of show.
func (p *progress) draw() {
	if p.since.IsZero() {
		return
	}
	x, later := p.last, time.Since(p.since)
	line := fmt.Sprintf("%c %s, %v", turns[p.turn%len(turns)], x.Step, later.Round(time.Second))
	if x.Duration > 0 {
		elapsed := min(x.Elapsed+later, max(x.Duration, x.Elapsed))
		full := int(barWidth * min(float64(elapsed)/float64(x.Duration), 1))
		line = fmt.Sprintf("%c [%s%s] %v of %v: %d operations, %.0f a second", turns[p.turn%len(turns)],
			strings.Repeat("=", full), strings.Repeat(" ",
				barWidth-full), elapsed.Round(time.Second), x.Duration, x.Operations, x.PerSecond)
		if x.Errors > 0 {
			line += fmt.Sprintf(", %d errors", x.Errors)
		}
	}
	p.write(line[:min(len(line), lineWidth)])
}

// write replaces the line on the terminal, and pads a shorter line with blanks to erase the rest of the previous
// line.
func (p *progress) write(line string) {
	pad := strings.Repeat(" ", max(p.width-len(line), 0))
	fmt.Fprintf(p.out, "\r%s%s\r%s", line, pad, line)
	p.width = len(line)
}
