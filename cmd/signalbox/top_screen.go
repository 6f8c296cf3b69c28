package main

import (
	"strings"
	"unicode/utf8"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// Commands to a terminal: to show another page and no cursor, and back; to go to the top; to clear the rest of a line,
// and of the page.
const (
	screenEnter = "\x1b[?1049h\x1b[?25l"
	screenLeave = "\x1b[?25h\x1b[?1049l"
	screenTop   = "\x1b[H"
	lineRest    = "\x1b[K"
	screenRest  = "\x1b[J"
)

// screen shows texts in the same place of a terminal, or one after the other where there is none.
type screen struct {
	frame   *cli.Frame
	plain   bool
	entered bool
	shown   int
}

func newScreen(f *cli.Frame, plain bool) *screen {
	return &screen{frame: f, plain: plain || !cli.IsTerminal(f.Out)}
}

// show shows a text in the place of the one before, as far as there is room.
func (s *screen) show(text string) error {
	if s.plain {
		if s.shown++; s.shown > 1 {
			text = "\n" + text
		}
		return s.frame.Write([]byte(text))
	}
	var b strings.Builder
	if !s.entered {
		b.WriteString(screenEnter)
		s.entered = true
	}
	b.WriteString(screenTop)
	columns, rows, ok := s.frame.TerminalSize()
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if ok && i >= rows {
			break
		}
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

// cut leaves away what does not fit into a line.
func cut(line string, columns int) string {
	if utf8.RuneCountInString(line) <= columns {
		return line
	}
	return string([]rune(line)[:columns])
}

// restore gives the terminal back as it was.
func (s *screen) restore() {
	if s.entered {
		_ = s.frame.Write([]byte(screenLeave)) // an error has no reader any more
	}
}
