package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ByteText formats a number of bytes.
func ByteText(n int64) string {
	const step = 1024
	if n < step {
		return strconv.FormatInt(n, 10) + " B"
	}
	value, unit := float64(n), 0
	for ; value >= step && unit < 4; unit++ {
		value /= step
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGT"[unit-1])
}

// progressPause is the interval at which a progress line is redrawn.
const progressPause = 100 * time.Millisecond

// Progress shows a long operation's progress on a terminal.
type Progress struct {
	frame *Frame // nil without a terminal
	drawn time.Time
	width int
}

// NewProgress returns a Progress for work that begins now.
func NewProgress(f *Frame) *Progress {
	if !IsTerminal(f.Err) {
		return &Progress{}
	}
	return &Progress{frame: f, drawn: time.Now()}
}

// Show draws the completed share. Quick work gets no line.
func (p *Progress) Show(what string, done, all int64) {
	if p.frame == nil || all <= 0 || time.Since(p.drawn) < progressPause {
		return
	}
	const cells = 30
	full := int(min(done, all) * cells / all)
	line := fmt.Sprintf("%s [%s%s] %d%%", what, strings.Repeat("=", full), strings.Repeat(" ", cells-full),
		min(done, all)*100/all)
	p.width = max(p.width, len(line))
	fmt.Fprintf(p.frame.Err, "\r%-*s", p.width, line)
	p.drawn = time.Now()
}

// End removes the line.
func (p *Progress) End() {
	if p.frame != nil && p.width > 0 {
		fmt.Fprintf(p.frame.Err, "\r%s\r", strings.Repeat(" ", p.width))
	}
}
