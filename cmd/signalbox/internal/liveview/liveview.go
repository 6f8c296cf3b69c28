// Package liveview shows objects while they change. A Kind says how to draw an object and how to describe a change. On
// a terminal a Screen redraws the page; elsewhere each change is a line.
package liveview

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// Commands to a terminal: to show another page and no cursor, and back; to go to the top; to clear the rest of a line,
// and of the page; to write without colours.
const (
	enter       = "\x1b[?1049h\x1b[?25l"
	leave       = "\x1b[?25h\x1b[?1049l"
	top         = "\x1b[H"
	lineRest    = "\x1b[K"
	screenRest  = "\x1b[J"
	plainColour = "\x1b[0m"
)

// Screen shows texts in one place of a terminal, or in turn without a terminal.
type Screen struct {
	frame   *cli.Frame
	plain   bool
	entered bool
	shown   int
}

// New returns the screen on standard output, or a plain one that shows each text below the last.
func New(f *cli.Frame, plain bool) *Screen {
	return &Screen{frame: f, plain: plain || !cli.IsTerminal(f.Out)}
}

// Show shows a text in the place of the last text, as far as there is room.
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
	ok = ok && columns > 0 && rows > 0 // a terminal without a size has room for all
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

// cut leaves away what does not fit into a line. Colours take no room, and are ended.
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

// colourLength is the length of the colour at the begin of a text, 0 without a colour.
func colourLength(text string) int {
	if !strings.HasPrefix(text, "\x1b[") {
		return 0
	}
	return strings.IndexByte(text, 'm') + 1
}

// Restore gives the terminal back as it was.
func (s *Screen) Restore() {
	if s.entered {
		_ = s.frame.Write([]byte(leave)) // an error has no reader any more
	}
}
