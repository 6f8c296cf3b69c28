// Package liveview shows objects while they change. A Kind defines how to draw an object and how to describe a
// change. On a terminal, a Screen redraws the page; otherwise every change is a line.
package liveview

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// Terminal commands: switch to another page without a cursor, and back; move to the top; clear the rest of a line,
// and of the page; write without colours.
const (
	enter       = "\x1b[?1049h\x1b[?25l"
	leave       = "\x1b[?25h\x1b[?1049l"
	top         = "\x1b[H"
	lineRest    = "\x1b[K"
	screenRest  = "\x1b[J"
	plainColour = "\x1b[0m"
)

// Screen shows texts in one place on a terminal, or one after another without a terminal.
type Screen struct {
	frame   *cli.Frame
	plain   bool
	entered bool
	shown   int
}

// New returns the screen on standard output, or a plain one that shows every text below the last.
func New(f *cli.Frame, plain bool) *Screen {
	return &Screen{frame: f, plain: plain || !cli.IsTerminal(f.Out)}
}

// Show replaces the last text with a new one, as far as it fits.
func (s *Screen) Show(text string) error {
	if s.plain {
		if s.shown++; s.shown > 1 {
			text = "\n" + text
		}
		return s.frame.Write([]byte(text))
	}
	var b strings.Builder
	if !s.entered {
		b.WriteString(enter)
		s.entered = true
	}
	b.WriteString(top)
	columns, rows, ok := s.frame.TerminalSize()
	ok = ok && columns > 0 && rows > 0 // a terminal of unknown size shows everything
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if more := len(lines) - rows; ok && more > 0 && rows > 1 {
		lines = append(lines[:rows-1], fmt.Sprintf("... %d more lines do not fit", more+1))
	}
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		if ok {
			line = cut(line, columns)
		}
		b.WriteString(line + lineRest)
	}
	b.WriteString(screenRest)
	return s.frame.Write([]byte(b.String()))
}

// cut truncates a line that is too wide. Colours have no width, and are reset.
func cut(line string, columns int) string {
	var b strings.Builder
	for width, rest := 0, line; rest != ""; {
		if n := colourLength(rest); n > 0 {
			b.WriteString(rest[:n])
			rest = rest[n:]
			continue
		}
		if width++; width > columns {
			if strings.Contains(b.String(), "\x1b") {
				b.WriteString(plainColour)
			}
			return b.String()
		}
		_, size := utf8.DecodeRuneInString(rest)
		b.WriteString(rest[:size])
		rest = rest[size:]
	}
	return b.String()
}

// colourLength returns the length of the colour code at the beginning of a text, 0 without one.
func colourLength(text string) int {
	if !strings.HasPrefix(text, "\x1b[") {
		return 0
	}
	return strings.IndexByte(text, 'm') + 1
}

// Restore restores the terminal's original state.
func (s *Screen) Restore() {
	if s.entered {
		_ = s.frame.Write([]byte(leave)) // there is no reader left for an error
	}
}
