package cli

import (
	"context"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsTerminal reports whether a stream is a terminal, which a person reads or types on.
func IsTerminal(stream any) bool {
	_, _, ok := terminalSize(stream)
	return ok
}

// TerminalSize returns the size of standard output's terminal. ok is false without a terminal.
func (f *Frame) TerminalSize() (columns, rows int, ok bool) { return terminalSize(f.Out) }

// UntilKey ends a context when a key is typed on standard input's terminal. The caller must call restore at the end,
// which restores the terminal; the process then ends, and a pending read of the next key with it.
func (f *Frame) UntilKey(ctx context.Context, key byte) (until context.Context, restore func()) {
	give := typeUnseen(f.In)
	if give == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		var typed [1]byte
		for {
			if n, err := f.In.Read(typed[:]); err != nil || n == 1 && typed[0] == key {
				if err == nil {
					cancel(&Interrupted{os.Interrupt})
				}
				return
			}
		}
	}()
	return ctx, func() {
		give()
		cancel(nil)
	}
}

// Colour is how text is emphasised on a terminal.
type Colour string

// Colours. A colour adds to a text, and never carries information alone.
const (
	Bold   Colour = "1"
	Red    Colour = "31"
	Green  Colour = "32"
	Yellow Colour = "33"
)

// Paint colours a text for standard output if it is a terminal and colours are not disabled by NO_COLOR or a dumb
// TERM.
func (f *Frame) Paint(c Colour, text string) string {
	if !f.colours() || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

func (f *Frame) colours() bool {
	return f.Variable("NO_COLOR") == "" && f.Variable("TERM") != "dumb" && IsTerminal(f.Out)
}

// Escape returns a text with one or more lines that cannot control a terminal: unprintable characters are written as
// in a Go string, except line ends and tabs.
func Escape(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case unicode.IsPrint(r) && (r != unicode.ReplacementChar || size > 1), r == '\n', r == '\t':
			b.WriteString(text[:size])
		default:
			quoted := strconv.Quote(text[:size])
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		text = text[size:]
	}
	return b.String()
}

// Safe returns an external text as a line that cannot control a terminal: unchanged, or quoted if a character is
// unprintable.
func Safe(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }) >= 0 {
		return strconv.Quote(text)
	}
	return text
}
