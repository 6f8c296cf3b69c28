package cli

import (
	"context"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsTerminal reports whether a stream is a terminal: a person reads it, or types.
func IsTerminal(stream any) bool {
	_, _, ok := terminalSize(stream)
	return ok
}

// TerminalSize returns the size of the terminal of standard output, and false without a terminal.
func (f *Frame) TerminalSize() (columns, rows int, ok bool) { return terminalSize(f.Out) }

// UntilKey ends a context when a key is typed at the terminal that standard input is. The caller calls restore at the
// end, which gives the terminal back; the process then ends, and a read of the next key with it.
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

// Colour is how a piece of text stands out on a terminal.
type Colour string

// The colours. A colour adds to a text, and never says anything alone.
const (
	Bold   Colour = "1"
	Red    Colour = "31"
	Green  Colour = "32"
	Yellow Colour = "33"
)

// Paint colours a text for standard output, if standard output is a terminal and nothing speaks against colours:
// NO_COLOR, or a TERM that is dumb.
func (f *Frame) Paint(c Colour, text string) string {
	if !f.colours() || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

func (f *Frame) colours() bool {
	return f.Variable("NO_COLOR") == "" && f.Variable("TERM") != "dumb" && IsTerminal(f.Out)
}

// Escape returns a text of one line or several, in which nothing gives orders to a terminal: what is not printable is
// written as Go writes it in a string, but for ends of lines and tabulators.
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

// Safe returns a text from outside as a line that gives no orders to a terminal: unchanged, or quoted if a character is
// not printable.
func Safe(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }) >= 0 {
		return strconv.Quote(text)
	}
	return text
}
