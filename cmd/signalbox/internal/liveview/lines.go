package liveview

import (
	"fmt"
	"strings"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/gateway/operation"
)

// Ages adds the time since the read to ages in a state.
type Ages struct{ elapsed time.Duration }

// After returns Ages for the time that has passed since the read.
func After(elapsed time.Duration) Ages { return Ages{elapsed} }

// Ago returns how long ago a timestamp was, empty for a future timestamp.
func (a Ages) Ago(m client.Timestamp) string {
	if !m.Happened {
		return ""
	}
	return operation.ShortTime(m.Ago + a.elapsed)
}

// Left returns the time until an event.
func (a Ages) Left(d time.Duration) string { return operation.ShortTime(max(0, d-a.elapsed)) }

// Wrapped breaks a line between words if it is wider than the columns; continuation lines are indented.
func Wrapped(line string, columns int) string {
	const indent = "  "
	if columns <= 0 {
		return line
	}
	var b strings.Builder
	width := 0
	for i, word := range strings.Split(line, " ") {
		n := len([]rune(word))
		switch {
		case i == 0:
		case width+1+n > columns:
			b.WriteString("\n" + indent)
			width = len(indent)
		default:
			b.WriteString(" ")
			width++
		}
		b.WriteString(word)
		width += n
	}
	return b.String()
}

// Lines collects lines about changes: a subject, and what has changed.
type Lines struct{ Text []string }

// Say adds a line. External text cannot control the terminal.
func (l *Lines) Say(subject, format string, args ...any) {
	l.Text = append(l.Text, fmt.Sprintf("%-8s   %s", cli.Safe(subject), cli.Safe(fmt.Sprintf(format, args...))))
}
